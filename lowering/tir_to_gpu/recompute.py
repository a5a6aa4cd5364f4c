"""Computing a value again, from other values."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside
from relax_mlir.mlir import ir

__all__ = ["recompute_operands"]


def recompute_operands(
    op: ir.Operation,
    known: dict[ir.Value, ir.Value],
    at: ir.InsertionPoint,
    changes: Callable[[ir.Value], bool],
) -> None:
    """Let an operation, and all inside of it, use values that are computed again at `at`.

    `known` are values and what stands for them; it grows by what is computed.  `changes` tells the
    values that have to be computed again; others stay.
    """
    for user in [op, *inside(op)]:
        for number, operand in enumerate(user.operands):
            user.operands[number] = _again(operand, known, at, changes)


def _again(
    value: ir.Value,
    known: dict[ir.Value, ir.Value],
    at: ir.InsertionPoint,
    changes: Callable[[ir.Value], bool],
) -> ir.Value:
    if value in known:
        return known[value]
    if not isinstance(value, ir.OpResult) or not changes(value):
        return value
    made = value.owner.operation.clone(ip=at).operation
    for number, operand in enumerate(made.operands):
        made.operands[number] = _again(operand, known, at, changes)
    for old, new in zip(value.owner.operation.results, made.results, strict=True):
        known[old] = new
    return known[value]
