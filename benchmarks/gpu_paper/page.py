"""The tables of docs/gpu_performance.md: what kernels of default schedules can be expected to do,
and what they take of a multiprocessor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import relax_mlir
from benchmarks.gpu_paper.device import H200, H200_WITH_WARPGROUPS, Gpu
from benchmarks.gpu_paper.estimate import KernelEstimate, estimate
from benchmarks.gpu_problems import GPU_PROBLEMS, RESOURCE_PROBLEMS, GpuProblem
from benchmarks.report import duration
from relax_mlir.runtime.device_code import DeviceCode
from relax_mlir.testing.assemblers import Resources, assemble_ptx

__all__ = [
    "PAGE",
    "device_code",
    "page",
    "paper_tables",
    "resource_table",
    "warpgroup_tables",
]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu_performance.md"
ARCHS = ("sm_75", "sm_80", "sm_90")

_HEAD = """# Performance on a GPU, on paper

<!-- Written by `python -m benchmarks.gpu --page`; do not edit. -->

No machine of this project has a GPU: this page says what the generated code can be expected to do,
so that a run on a device (`python -m benchmarks.gpu`, where there is one) confirms or refutes it.
Kernels are those of default schedules, assembled by ptxas.

Each kernel's work is counted on its code (`benchmarks/gpu_paper/work.py`): sectors of 32 bytes that
a warp moves to and from L2, rows of banks of shared memory, operations; the instructions of its
hottest loop are those of the machine code. Each count over what the device does at best in a second
is a time; the largest is the bound, longer by as much as multiprocessors are idle in the last wave.
A problem's time is that of its kernels and {launch} between them. Nothing is known here of latency:
a kernel whose warps wait more than the others cover takes longer.
"""
_LIMITS = """{memory:.1f} TB/s of memory, {l2:.1f} TB/s of L2, {fp32:.0f} TFLOP/s of float32,
{tensor:.0f} of float16 by mma.sync. "At best" is what the problem would take if it moved each input
and output once and computed at full speed; launch and resources are those of the longest kernel."""
_COLUMNS = """Microseconds that each resource would take alone; "of moved" is the share of the bytes
moved that a lane asked for (more than 1 where lanes share), "conflicts" how many times more rows of
banks are moved than need be."""
_WARPGROUPS = """`wgmma` reads both operands from shared memory, so that registers are for sums
alone: tiles are larger and less comes from L2. It multiplies up to {tensor:.0f} TFLOP/s of float16.
No kernel here has run on a device: the emulator has, against the layouts of the PTX manual."""
_RESOURCES = """Registers of a thread, bytes of static shared memory, and the bytes that are spilled
because they do not fit registers, where there are any, by `ptxas -v`:"""


def device_code(problem: GpuProblem, arch: str) -> DeviceCode:
    """The kernels of a problem with default schedules."""
    built = relax_mlir.compile(problem.module(), target={"kind": "cuda", "arch": arch})
    code = built.mod.code.device_code
    assert isinstance(code, DeviceCode)
    return code


Rows: TypeAlias = "Sequence[tuple[GpuProblem, Sequence[KernelEstimate]]]"


def _estimates(problems: Sequence[GpuProblem], gpu: Gpu) -> Rows:
    return [(p, estimate(device_code(p, gpu.arch), gpu, p.moved)) for p in problems]


def page(gpu: Gpu = H200, with_warpgroups: Gpu = H200_WITH_WARPGROUPS) -> str:
    """The whole page."""
    rows = _estimates(GPU_PROBLEMS, gpu)
    products = [p for p in GPU_PROBLEMS if p.uses_tensor_cores and p.name.startswith("matmul")]
    return "\n".join(
        (
            _HEAD.format(launch=duration(gpu.launch)),
            *paper_tables(rows, gpu),
            *warpgroup_tables(_estimates(products, with_warpgroups), with_warpgroups),
            "## Registers and spills",
            "",
            _RESOURCES,
            "",
            resource_table(RESOURCE_PROBLEMS, ARCHS),
            "",
        )
    )


def paper_tables(
    rows: Sequence[tuple[GpuProblem, Sequence[KernelEstimate]]], gpu: Gpu
) -> list[str]:
    """The expectation of each problem, and the bounds of each kernel."""
    return [
        f"## Expected on an {gpu.name}",
        "",
        _LIMITS.format(
            memory=gpu.memory_bandwidth / 1e12,
            l2=gpu.l2_bandwidth / 1e12,
            fp32=gpu.fp32_flops / 1e12,
            tensor=gpu.tensor_flops / 1e12,
        ),
        "",
        _expectations(rows, gpu),
        "",
        "## Bounds of each kernel",
        "",
        _COLUMNS,
        "",
        _bounds(rows),
        "",
        "## Instructions of the hottest loop",
        "",
        "Of the whole kernel where it has no loop.",
        "",
        _mixes(rows),
        "",
    ]


def warpgroup_tables(rows: Rows, gpu: Gpu) -> list[str]:
    """What products by warpgroups can be expected to do."""
    return [
        f"## Products by warpgroups ({gpu.arch})",
        "",
        _WARPGROUPS.format(tensor=gpu.warpgroup_flops / 1e12),
        "",
        _expectations(rows, gpu),
        "",
        _bounds(rows),
        "",
        _mixes(rows),
        "",
    ]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(
        f"| {' | '.join(row)} |".replace("| ---", "|---").replace("--- |", "---|") for row in rows
    )


def _expectations(rows: Sequence[tuple[GpuProblem, Sequence[KernelEstimate]]], gpu: Gpu) -> str:
    lines = []
    for problem, kernels in rows:
        total = sum(k.seconds for k in kernels) + gpu.launch * (len(kernels) - 1)
        best = at_best(problem, gpu)
        longest = max(kernels, key=lambda k: k.seconds)
        work, occupancy = longest.work, longest.occupancy
        lines.append(
            [
                problem.name,
                str(len(kernels)),
                f"{work.blocks} x {work.threads}",
                str(longest.resources.registers),
                str(longest.resources.shared + work.dynamic_shared),
                f"{occupancy.share:.0%} ({occupancy.limit})",
                longest.bound,
                duration(total),
                duration(best),
                f"{best / total:.2f}",
            ]
        )
    head = [
        "problem",
        "kernels",
        "blocks x threads",
        "registers",
        "shared bytes",
        "occupancy",
        "bound",
        "expected",
        "at best",
        "share",
    ]
    return _table(head, lines)


def at_best(problem: GpuProblem, gpu: Gpu) -> float:
    """Seconds if each input and output moved once, and arithmetic ran at full speed."""
    rate = gpu.best_tensor_flops if problem.uses_tensor_cores else gpu.fp32_flops
    return max(problem.moved / gpu.memory_bandwidth, problem.flops / rate)


def _bounds(rows: Sequence[tuple[GpuProblem, Sequence[KernelEstimate]]]) -> str:
    names = list(rows[0][1][0].bounds)
    lines = [
        [
            f"{problem.name}: {kernel.work.name}",
            *(f"{kernel.bounds[name] * 1e6:.1f}" for name in names),
            f"{kernel.work.coalescing:.2f}",
            f"{kernel.work.bank_conflicts:.1f}",
        ]
        for problem, kernels in rows
        for kernel in kernels
    ]
    return _table(["kernel", *names, "of moved", "conflicts"], lines)


def _mixes(rows: Sequence[tuple[GpuProblem, Sequence[KernelEstimate]]]) -> str:
    lines = [
        [f"{problem.name}: {kernel.work.name}", str(kernel.mix.total), str(kernel.mix)]
        for problem, kernels in rows
        for kernel in kernels
    ]
    return _table(["kernel", "instructions", "of them"], lines)


def resource_table(problems: Sequence[GpuProblem], archs: Sequence[str]) -> str:
    """What ptxas says of the kernels of each problem for each architecture."""
    lines = []
    for problem in problems:
        found = [_resources(problem, arch) for arch in archs]
        lines.append([problem.name, *found])
    return _table(["default schedule", *archs], lines)


def _resources(problem: GpuProblem, arch: str) -> str:
    kernels = assemble_ptx(device_code(problem, arch).ptx(), arch).resources
    return "; ".join(_described(resources) for resources in kernels.values())


def _described(resources: Resources) -> str:
    text = f"{resources.registers} registers, {resources.shared} B"
    return text + (f", {resources.spills} B spilled" if resources.spills else "")
