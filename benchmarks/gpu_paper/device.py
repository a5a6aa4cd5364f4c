"""Limits of a GPU: what it does at best in a second, and how many blocks a multiprocessor holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["H200", "H200_WITH_WARPGROUPS", "Gpu", "Occupancy"]

_KIB = 1024


@dataclass(frozen=True)
class Gpu:
    """Rates are a second, bandwidths in bytes; the rest is of one multiprocessor."""

    name: str
    arch: str
    multiprocessors: int
    clock: float
    memory_bandwidth: float
    l2_bandwidth: float
    tensor_flops: float
    """Of float16 factors, by the instructions of warps (mma.sync)."""

    warpgroup_flops: float
    """Of them by the instructions of warpgroups (wgmma)."""

    lanes: int = 128
    schedulers: int = 4
    warps: int = 64
    blocks: int = 32
    registers: int = 65536
    shared_bytes: int = 228 * _KIB
    launch: float = 2e-6
    """Seconds from the end of a kernel to the start of the next."""

    @property
    def best_tensor_flops(self) -> float:
        """Of the instructions that its architecture has."""
        return self.warpgroup_flops if self.arch.endswith("a") else self.tensor_flops

    @property
    def fp32_flops(self) -> float:
        return 2.0 * self.multiprocessors * self.lanes * self.clock

    @property
    def shared_wavefronts(self) -> float:
        """Rows of 32 banks that all multiprocessors read or write."""
        return self.multiprocessors * self.clock

    @property
    def issues(self) -> float:
        """Instructions of warps that all multiprocessors start."""
        return self.multiprocessors * self.schedulers * self.clock


# Memory, clock and multiprocessors: NVIDIA's data sheet of the H200 SXM (4.8 TB/s; 67 TFLOP/s of
# float32 are 132 x 128 lanes at 1.98 GHz; 989 TFLOP/s of float16 without sparsity). mma.sync
# reaches 62% of what wgmma does (Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
# Architecture", 2024). L2: measured reads of an H100, 5.5 TB/s (Chips and Cheese, 2023). The rest:
# CUDA C++ Programming Guide, technical specifications of compute capability 9.0.
H200 = Gpu(
    name="H200",
    arch="sm_90",
    multiprocessors=132,
    clock=1.98e9,
    memory_bandwidth=4.8e12,
    l2_bandwidth=5.5e12,
    tensor_flops=0.62 * 989e12,
    warpgroup_flops=989e12,
)
H200_WITH_WARPGROUPS = replace(H200, arch="sm_90a")

_REGISTER_UNIT, _SHARED_UNIT, _SHARED_OF_SYSTEM, _WARP = 256, 128, _KIB, 32


@dataclass(frozen=True)
class Occupancy:
    """Blocks that a multiprocessor holds at a time, the share of its warps they are, and what
    allows no more."""

    blocks: int
    share: float
    limit: str

    @classmethod
    def of(cls, gpu: Gpu, threads: int, registers: int, shared: int) -> Occupancy:
        """Of blocks of so many threads, registers a thread and bytes of shared memory.

        Registers are handed out to warps in units of 256, shared memory in units of 128 bytes with
        1 KiB a block for the system (CUDA's occupancy calculator)."""
        warps = -(-threads // _WARP)
        of_warp = _rounded(max(registers, 1) * _WARP, _REGISTER_UNIT)
        of_block = _rounded(shared + _SHARED_OF_SYSTEM, _SHARED_UNIT)
        found = {
            "warps": gpu.warps // warps,
            "blocks": gpu.blocks,
            "registers": gpu.registers // of_warp // warps,
            "shared": gpu.shared_bytes // of_block,
        }
        limit = min(found, key=lambda name: found[name])
        return cls(found[limit], found[limit] * warps / gpu.warps, limit)


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
