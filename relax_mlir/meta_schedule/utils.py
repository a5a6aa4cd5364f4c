"""What the parts of the tuner share: modules in one form, seeds, cores."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.cores import usable_cores
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.utils import derived_object
from relax_mlir.mlir import ir
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import Schedule, nest

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = [
    "INITIALIZE",
    "block_names",
    "cpu_count",
    "derived_object",
    "fork_seed",
    "initialize",
    "is_valid",
    "normalize_mod",
    "operation_text",
    "prim_func_of",
]

INITIALIZE = "_initialize_with_tune_context"
"""TVM's name of the method by which rules, mutators and their like, users' own too, learn the task
that they work for."""


def cpu_count(logical: bool = True) -> int:
    """The cores that this process may use; threads of a core count as cores."""
    del logical
    return usable_cores()


def fork_seed(seed: int | None, n: int) -> list[int]:
    """`n` seeds drawn from one; from the system's randomness for None and -1."""
    source = random.Random(None if seed in (None, -1) else seed)
    return [source.randrange(1, 2**30) for _ in range(n)]


def normalize_mod(mod: IRModule | BaseFunc) -> IRModule:
    """A module with one TensorIR function, public and called "main", whose buffers do not overlap:
    the form in which the tuner keeps workloads.

    A module of several functions stays as it is.  Raises TypeError for what is neither.
    """
    if isinstance(mod, PrimFunc):
        return IRModule({"main": _public(mod)})
    if not isinstance(mod, IRModule):
        raise TypeError(f"expected a PrimFunc or an IRModule, not {type(mod).__name__}")
    functions = list(mod.functions.values())
    only = functions[0] if len(functions) == 1 else None
    return IRModule({"main": _public(only)}) if isinstance(only, PrimFunc) else mod


def _public(function: PrimFunc) -> BaseFunc:
    return function.with_attr({"global_symbol": "main", "tir.noalias": True})


def prim_func_of(mod: IRModule) -> PrimFunc:
    """The TensorIR function of a workload.  Raises ValueError unless there is exactly one."""
    found = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    if len(found) != 1:
        raise ValueError(
            f"a workload has one TensorIR function, this module has {len(found)}: "
            f"{', '.join(v.name_hint for v in mod.functions) or 'none'}"
        )
    return found[0]


def block_names(mod: IRModule) -> list[str]:
    """The names of the blocks of a workload, each before those inside of it."""
    function = prim_func_of(mod)
    with mlir.scope():
        return [b.sym_name.value for b in nest.blocks_of(function.operation.opview)]


def is_valid(sch: Schedule, variable: Any) -> bool:
    """Whether a random variable still stands for something."""
    return sch.state.places.get(variable) is not None


def operation_text(operation: ir.Operation | ir.OpView) -> str:
    """An operation as MLIR text without locations, its values numbered in order."""
    with mlir.scope():
        return str(operation)


def initialize(part: Any, context: TuneContext) -> None:
    """Tell a part of the tuner the task that it works for."""
    getattr(part, INITIALIZE)(context)
