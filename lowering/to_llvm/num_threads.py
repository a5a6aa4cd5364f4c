"""Which modules have parallel loops, and how many threads those use."""

from __future__ import annotations

import os

from relax_mlir.cores import usable_cores
from relax_mlir.errors import CompileError
from relax_mlir.mlir import ir

__all__ = ["ALL_CORES", "ENVIRONMENT", "has_parallel_loops", "mark_parallel", "num_threads"]

ALL_CORES = 0
"""As many threads as the OpenMP runtime starts: all cores, or what OMP_NUM_THREADS says."""

_MARK = "tir.parallel"

ENVIRONMENT = ("RELAX_MLIR_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS")
"""The variables that say how many threads to use, the first that is set counts."""


def num_threads(num_cores: int | None = None) -> int:
    """The number of threads for parallel loops of the code being compiled.

    `num_cores` is what the target says, if anything; the environment comes next.  Otherwise loops
    that a program marks as parallel use all cores of the machine that the code runs on
    (ALL_CORES), or none but one where this machine has no other.

    Raises CompileError for a number that is none, or below one.
    """
    if num_cores is not None:
        return _checked("num-cores", str(num_cores))
    for name in ENVIRONMENT:
        value = os.environ.get(name, "").split(",")[0].strip()
        if value:
            return _checked(name, value)
    return ALL_CORES if usable_cores() > 1 else 1


def _checked(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise CompileError(f"{name} is {text!r}, expected a number of threads")
    return int(text)


def mark_parallel(function: ir.Operation) -> None:
    """Note that a function has an `scf.parallel`, which is then lowered to threads."""
    function.attributes[_MARK] = ir.UnitAttr.get()


def has_parallel_loops(functions: list[ir.Operation]) -> bool:
    """Whether a function was marked by `mark_parallel`."""
    return any(_MARK in function.attributes for function in functions)
