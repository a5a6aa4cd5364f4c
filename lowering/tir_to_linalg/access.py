"""Affine accesses of a block: which element of which buffer, as maps of iteration variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.mlir import ir, linalg


@dataclass(frozen=True)
class Access:
    """A load or store in a block: its buffer and the affine map of its indices."""

    op: ir.Operation
    buffer: ir.Value
    map: ir.AffineMap


def affine_expression(value: ir.Value, iter_vars: Sequence[ir.Value]) -> ir.AffineExpr | None:
    """`value` as an affine expression of the iteration variables, or None when it is not one."""
    for position, variable in enumerate(iter_vars):
        if value == variable:
            return ir.AffineExpr.get_dim(position)
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name == "arith.constant":
        return ir.AffineExpr.get_constant(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name != "affine.apply":
        return None
    affine_map = ir.AffineMapAttr(op.attributes["map"]).value
    operands = [affine_expression(v, iter_vars) for v in op.operands]
    if affine_map.n_symbols or any(e is None for e in operands):
        return None
    inner = ir.AffineMap.get(len(iter_vars), 0, [e for e in operands if e is not None])
    return affine_map.results[0].compose(inner)


def access_map(indices: Sequence[ir.Value], iter_vars: Sequence[ir.Value]) -> ir.AffineMap | None:
    """The map of a list of indices, or None when one of them is not affine."""
    results = [affine_expression(index, iter_vars) for index in indices]
    if any(e is None for e in results):
        return None
    return ir.AffineMap.get(len(iter_vars), 0, [e for e in results if e is not None])


def load_access(op: ir.Operation, iter_vars: Sequence[ir.Value]) -> Access | None:
    """The access of a memref.load."""
    found = access_map(list(op.operands)[1:], iter_vars)
    return None if found is None else Access(op, op.operands[0], found)


def store_access(op: ir.Operation, iter_vars: Sequence[ir.Value]) -> Access | None:
    """The access of a memref.store."""
    found = access_map(list(op.operands)[2:], iter_vars)
    return None if found is None else Access(op, op.operands[1], found)


def plain_dimensions(affine_map: ir.AffineMap) -> list[int | None]:
    """For each result of a map, the iteration variable it is exactly, or None."""
    return [e.position if isinstance(e, ir.AffineDimExpr) else None for e in affine_map.results]


def fill(buffer: ir.Value, value: ir.Value) -> None:
    """Emit `linalg.fill` of a whole buffer."""
    made = linalg.FillOp([], [value], [buffer])
    body = made.regions[0].blocks.append(value.type, ir.MemRefType(buffer.type).element_type)
    with ir.InsertionPoint(body):
        linalg.YieldOp([body.arguments[0]])
