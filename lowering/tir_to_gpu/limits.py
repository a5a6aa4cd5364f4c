"""What a device can run: sizes of launches, shared memory, warps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceLimits", "compute_capability"]

_KIB = 1024
# Compute capability -> the most dynamic shared memory of a block (CUDA C++ Programming Guide,
# table "Technical Specifications per Compute Capability").
_SHARED_OPT_IN = {
    70: 96 * _KIB,
    72: 96 * _KIB,
    75: 64 * _KIB,
    80: 163 * _KIB,
    86: 99 * _KIB,
    87: 163 * _KIB,
    89: 99 * _KIB,
    90: 227 * _KIB,
    100: 227 * _KIB,
    120: 99 * _KIB,
}
_STATIC_SHARED = 48 * _KIB
_DEFAULT_CUDA = 80


def compute_capability(arch: str) -> int:
    """`sm_80` is 80; suffixes such as the `a` of `sm_90a` do not count."""
    digits = re.search(r"\d+", arch)
    return int(digits[0]) if digits else _DEFAULT_CUDA


@dataclass(frozen=True)
class DeviceLimits:
    """Limits of a target; its attributes (TVM's names) override those of the architecture.

    A warp of one thread stands for a device whose threads have no shuffles to count on (OpenCL's),
    and `has_dynamic_shared` says whether a launch may give a size of shared memory."""

    max_threads_per_block: int = 1024
    warp_size: int = 32
    has_dynamic_shared: bool = True
    static_shared_bytes: int = _STATIC_SHARED
    max_shared_bytes: int = _SHARED_OPT_IN[_DEFAULT_CUDA]

    @classmethod
    def of(cls, target: Any) -> DeviceLimits:
        """The limits of a `Target`; of CUDA's default architecture when there is none."""
        attrs = getattr(target, "attrs", {})
        kind = str(getattr(target, "kind", "cuda"))
        arch = str(attrs.get("arch", attrs.get("mcpu", "")))
        known = _SHARED_OPT_IN.get(compute_capability(arch), _STATIC_SHARED)
        if kind != "cuda":
            known = 64 * _KIB if kind == "rocm" else 32 * _KIB
        most = int(attrs.get("max_shared_memory_per_block", known))
        has_launch_sizes = kind in ("cuda", "rocm")
        return cls(
            int(attrs.get("max_threads_per_block", attrs.get("max_num_threads", 1024))),
            int(attrs.get("thread_warp_size", 32 if has_launch_sizes else 1)),
            has_launch_sizes,
            min(_STATIC_SHARED, most) if kind == "cuda" else most,
            max(most, known),
        )

    def largest(self, axis: str) -> int:
        """The most blocks or threads along an axis."""
        if axis.startswith("threadIdx"):
            return 64 if axis.endswith("z") else min(1024, self.max_threads_per_block)
        return 2**31 - 1 if axis.endswith("x") else 65535
