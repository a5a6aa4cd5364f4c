"""What bounds a kernel, and what it can be expected to take."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.gpu_paper.device import Gpu, Occupancy
from benchmarks.gpu_paper.instructions import Mix, mix_of_ptx, mix_of_sass
from benchmarks.gpu_paper.work import KernelWork, kernel_works
from relax_mlir.runtime.device_code import DeviceCode
from relax_mlir.testing.assemblers import Resources, ToolMissing, assemble_ptx, disassemble

__all__ = ["KernelEstimate", "estimate"]


@dataclass(frozen=True)
class KernelEstimate:
    """One kernel on a device; `bounds` are seconds by what would take them alone."""

    work: KernelWork
    resources: Resources
    occupancy: Occupancy
    mix: Mix
    bounds: dict[str, float]
    filled: float
    """The share of the device's multiprocessors that have a block on average, over all waves."""

    @property
    def bound(self) -> str:
        return max(self.bounds, key=lambda name: self.bounds[name])

    @property
    def seconds(self) -> float:
        """The largest bound, where not all multiprocessors work as much longer."""
        return self.bounds[self.bound] / self.filled


def estimate(code: DeviceCode, gpu: Gpu, moved: float) -> list[KernelEstimate]:
    """The kernels of a program of fixed sizes on a device; `moved` are the bytes of its inputs and
    outputs, of which every kernel is taken to move its share of all accesses at least once.

    Raises ToolMissing without ptxas, ValueError for kernels of unknown sizes.
    """
    ptx = code.ptx(gpu.arch)
    assembled = assemble_ptx(ptx, gpu.arch)
    try:
        sass = disassemble(assembled.cubin)
    except ToolMissing:
        sass = ""
    works = kernel_works(code)
    accessed = sum(work.global_bytes for work in works.values()) or 1.0
    return [
        _estimate(
            works[name],
            assembled.resources[name],
            mix_of_sass(sass, name) if sass else mix_of_ptx(ptx, name),
            gpu,
            moved * works[name].global_bytes / accessed,
        )
        for name in code.names
    ]


def _estimate(
    work: KernelWork, resources: Resources, mix: Mix, gpu: Gpu, moved: float
) -> KernelEstimate:
    shared = resources.shared + work.dynamic_shared
    occupancy = Occupancy.of(gpu, work.threads, resources.registers, shared)
    steps = _steps(work, mix)
    bounds = {
        "memory": moved / gpu.memory_bandwidth,
        "L2": work.global_bytes / gpu.l2_bandwidth,
        "shared memory": _wavefronts(work, mix, steps) / gpu.shared_wavefronts,
        "arithmetic": work.flops / gpu.fp32_flops,
        "tensor cores": work.tensor_flops / gpu.tensor_flops
        + work.warpgroup_flops / gpu.warpgroup_flops,
        "instructions": steps * mix.total / gpu.issues,
    }
    return KernelEstimate(work, resources, occupancy, mix, bounds, _filled(work, occupancy, gpu))


_COUNTED = {
    "tensor": "tensor cores",
    "arithmetic": "arithmetic",
    "global": "global",
    "shared": "shared",
}
"""What an instruction of a mix is among those that the work counts."""


def _steps(work: KernelWork, mix: Mix) -> float:
    """How often all warps together run the instructions of a mix: as often as it takes for what
    they compute."""
    for kind, name in _COUNTED.items():
        if mix.is_loop and mix.counts.get(kind) and work.issued.get(name):
            return max(work.issued[name] / mix.counts[kind], work.warps)
    return work.warps


def _wavefronts(work: KernelWork, mix: Mix, steps: float) -> float:
    """Rows of banks in all.  The assembler keeps in registers what the program reads again in a
    loop: the rows are fewer by as much as the bytes are.  (`wgmma` reads what it multiplies.)"""
    if work.warpgroup_flops or not (mix.is_loop and mix.shared_bytes and work.shared_bytes):
        return work.wavefronts
    moved = steps * mix.shared_bytes * 32
    return work.wavefronts * min(1.0, moved / work.shared_bytes)


def _filled(work: KernelWork, occupancy: Occupancy, gpu: Gpu) -> float:
    at_once = gpu.multiprocessors * max(1, occupancy.blocks)
    if work.blocks <= gpu.multiprocessors:
        return work.blocks / gpu.multiprocessors
    if work.blocks <= at_once:
        each = -(-work.blocks // gpu.multiprocessors)
        return work.blocks / (each * gpu.multiprocessors)
    waves = -(-work.blocks // at_once)
    return work.blocks / (waves * at_once)
