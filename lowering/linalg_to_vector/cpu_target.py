"""What the strategies know about the CPU they emit for."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

__all__ = ["CHAINS", "CPUTarget", "host_cpu"]

CHAINS = 8
"""Independent fused multiply-adds in flight that keep two units of latency four busy."""


# Widest vector and number of vector registers, by the flag of /proc/cpuinfo that promises them.
_X86_LEVELS = (("avx512f", 512, 32), ("avx2", 256, 16))

_FEATURES = frozenset(("avx512_bf16", "avx512_vnni"))


@dataclass(frozen=True)
class CPUTarget:
    """Vector unit, caches and cores of a CPU.

    `vector_bits` is the width of one register, `vector_registers` how many there are; the cache
    sizes are those of one core, in bytes.  `features` are instructions beyond those of the vector
    width, by their names in /proc/cpuinfo.
    """

    vector_bits: int = 128
    vector_registers: int = 16
    l1_bytes: int = 32 << 10
    l2_bytes: int = 1 << 20
    num_cores: int = 1
    features: frozenset[str] = frozenset()

    def lanes(self, element_bits: int) -> int:
        """How many elements of `element_bits` bits one register holds, at least one."""
        return max(1, self.vector_bits // max(8, element_bits))

    def restricted(self, vector_bits: int, num_cores: int) -> CPUTarget:
        """The same CPU with another register width (0 keeps the width) and number of cores."""
        if vector_bits in (0, self.vector_bits):
            return replace(self, num_cores=num_cores)
        registers = 32 if vector_bits == 512 else 16
        return replace(
            self,
            vector_bits=vector_bits,
            vector_registers=registers,
            num_cores=num_cores,
            features=frozenset(),
        )


@cache
def host_cpu() -> CPUTarget:
    """The CPU this process runs on, read from /proc/cpuinfo; 128-bit vectors where unknown."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return CPUTarget(vector_bits=128, vector_registers=32)
    flags = _cpuinfo_flags()
    for flag, bits, registers in _X86_LEVELS:
        if flag in flags:
            wanted = flags & _FEATURES if bits == 512 else frozenset()
            return CPUTarget(vector_bits=bits, vector_registers=registers, features=wanted)
    return CPUTarget()


def _cpuinfo_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    for line in text.splitlines():
        if line.startswith("flags"):
            return frozenset(line.partition(":")[2].split())
    return frozenset()
