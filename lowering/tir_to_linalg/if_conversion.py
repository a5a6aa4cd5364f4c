"""Choices that become selects, because both sides may be computed everywhere."""

from __future__ import annotations

from relax_mlir.dialects import dims
from relax_mlir.lowering.tir.symbolic import buffer_dimension, dimension
from relax_mlir.lowering.tir_to_linalg.access import load_access
from relax_mlir.lowering.tir_to_linalg.nest import Nest
from relax_mlir.mlir import arith, ir

__all__ = ["convert_ifs"]

# What may trap or takes long is not computed where it is not wanted.
_REFUSED = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
            "arith.ceildivsi", "arith.ceildivui")  # fmt: skip


def convert_ifs(nest: Nest) -> bool:
    """Turn every `scf.if` of a block into a select; False (and nothing changed) if some side reads
    outside of a buffer, or does more than compute."""
    choices = [op.operation for op in nest.block.block.operations if op.operation.name == "scf.if"]
    if not choices or not all(_is_harmless(op, nest) for op in choices):
        return False
    for op in choices:
        _convert(op)
    return True


def _is_harmless(op: ir.Operation, nest: Nest) -> bool:
    if op.name == "memref.load":
        return _reads_inside(op, nest)
    if op.name == "scf.if":
        if len(op.results) != 1 or len(op.regions[1].blocks) != 1:
            return False
        return all(
            _is_harmless(inner.operation, nest)
            for region in op.regions
            for inner in region.blocks[0].operations
        )
    if op.name == "scf.yield":
        return True
    return op.name.split(".")[0] in ("arith", "math", "affine") and op.name not in _REFUSED


def _reads_inside(op: ir.Operation, nest: Nest) -> bool:
    """Whether a load is in bounds wherever the block runs: every index is a whole loop over that
    dimension, or a constant inside it."""
    access = load_access(op, nest.block.iter_vars)
    if access is None:
        return False
    for axis, expr in enumerate(access.map.results):
        size = buffer_dimension(access.buffer, axis)
        if isinstance(expr, ir.AffineDimExpr):
            if not dims.equal(size, dimension(nest.loops[expr.position].extent)):
                return False
        elif not _is_position(expr, size):
            return False
    return True


def _is_position(expr: ir.AffineExpr, size: object) -> bool:
    """Whether an index is a constant below a known size."""
    constant = isinstance(expr, ir.AffineConstantExpr) and isinstance(size, int)
    return constant and 0 <= expr.value < size


def _convert(op: ir.Operation) -> None:
    """Move both sides in front of a choice and select between their values."""
    values: list[ir.Value] = []
    for region in op.regions:
        block = region.blocks[0]
        for view in list(block.operations):
            if view.operation.name == "scf.if":
                _convert(view.operation)
        for view in list(block.operations):
            if view.operation.name == "scf.yield":
                values.append(view.operation.operands[0])
            else:
                view.operation.move_before(op)
    with ir.InsertionPoint(op), op.location:
        chosen = arith.select(op.operands[0], *values)
    op.results[0].replace_all_uses_with(chosen)
    op.erase()
