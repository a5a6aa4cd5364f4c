"""Small pieces of scf and of moving code that the loop kinds share."""

from __future__ import annotations

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import arith, ir, scf

__all__ = ["bounds_of", "branch", "enclosing", "index_value", "move_before", "serial_loop"]


def index_value(value: int | ir.Value) -> ir.Value:
    """An index as a value: a constant is made at the insertion point."""
    return arith.constant(ir.IndexType.get(), value) if isinstance(value, int) else value


def bounds_of(loop: ForOp) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Lower bound, upper bound and step of a loop, as values at the insertion point."""
    start, extent = loop.min, loop.extent
    lower = index_value(start)
    if isinstance(start, int) and isinstance(extent, int):
        upper = index_value(start + extent)
    else:
        upper = index_value(extent) if start == 0 else arith.addi(lower, index_value(extent))
    return lower, upper, index_value(1)


def serial_loop(loop: ForOp) -> scf.ForOp:
    """Replace a `tir.for`, whose body is lowered, by an `scf.for`."""
    created = scf.ForOp(*bounds_of(loop))
    body = created.body
    with ir.InsertionPoint(body):
        end = scf.YieldOp([]).operation
    take_body(loop, body, end)
    return created


def take_body(loop: ForOp, body: ir.Block, end: ir.Operation) -> None:
    """Move a loop's body before `end`, the terminator of `body`, and erase the loop."""
    body.arguments[0].set_location(loop.induction_variable.location)
    loop.induction_variable.replace_all_uses_with(body.arguments[0])
    move_before(loop.block, end)
    loop.operation.erase()


def branch(condition: ir.Value) -> ir.Operation:
    """An `scf.if`; returns the end of its branch, before which operations can be moved."""
    created = scf.IfOp(condition)
    with ir.InsertionPoint(created.then_block):
        return scf.YieldOp([]).operation


def move_before(source: ir.Block, anchor: ir.Operation) -> None:
    """Move every operation of a block before `anchor`, in order."""
    for view in list(source.operations):
        view.operation.move_before(anchor)


def enclosing(op: ir.Operation, name: str) -> ir.Operation | None:
    """The innermost operation of that name around `op`."""
    outer = op.parent
    while outer is not None and outer.operation.name != name:
        outer = outer.operation.parent
    return None if outer is None else outer.operation
