"""How many cores there are to compile and to run on."""

from __future__ import annotations

import os

__all__ = ["compile_threads", "usable_cores"]

_ENVIRONMENT = "RELAX_MLIR_COMPILE_THREADS"
_MOST = 4


def usable_cores() -> int:
    """The number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compile_threads() -> int:
    """How many threads compiling uses where it can use several: what RELAX_MLIR_COMPILE_THREADS
    says, else as many as there are cores, at most four."""
    asked = os.environ.get(_ENVIRONMENT, "")
    return max(1, int(asked)) if asked.isdigit() else min(_MOST, usable_cores())
