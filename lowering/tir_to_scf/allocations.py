"""Buffers become allocations, as far out as their sizes and the loops around allow.

An allocation leaves serial loops, so that memory is asked for once a call.  It stays in a parallel
loop, where every iteration needs a buffer of its own.
"""

from __future__ import annotations

from relax_mlir.lowering.tir_to_scf.structure import enclosing
from relax_mlir.mlir import ir, memref, operations_named

__all__ = ["hoist_allocations", "lower_alloc"]


def lower_alloc(op: ir.Operation) -> None:
    """Replace a `tir.alloc_buffer` by a `memref.alloc`."""
    kind = ir.MemRefType(op.results[0].type)
    created = memref.AllocOp(kind, list(op.operands), [])
    op.results[0].replace_all_uses_with(created.result)
    op.erase()


def hoist_allocations(function: ir.Operation, entry: ir.Block) -> None:
    """Move allocations to the start of the function or of the parallel loop around them when their
    sizes are known there.  `memref-free-temporaries` gives all of them an end."""
    for op in operations_named(function, ("memref.alloc",)):
        if op.block == entry:
            continue
        parallel = enclosing(op, "scf.parallel")
        home = entry if parallel is None else parallel.regions[0].blocks[0]
        if op.block != home:
            _hoist(op, home)


def _hoist(op: ir.Operation, home: ir.Block) -> None:
    sizes = list(op.operands)
    inside = [s.owner.operation for s in sizes if _block_of(s) == home and _has_maker(s)]
    if not all(_block_of(s) == home or _is_around(_block_of(s), home) for s in sizes):
        return
    last: ir.Operation | None = None
    for candidate in inside:
        last = candidate if last is None or last.is_before_in_block(candidate) else last
    first = home.operations[0].operation
    if last is not None:
        op.move_after(last)
    elif first != op:
        op.move_before(first)


def _has_maker(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block)


def _block_of(value: ir.Value) -> ir.Block:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block


def _is_around(outer: ir.Block, inner: ir.Block) -> bool:
    """Whether the operation that `inner` belongs to is, at some depth, in `outer`."""
    op = inner.owner
    while op is not None and op.operation.parent is not None:
        if op.operation.block == outer:
            return True
        op = op.operation.parent
    return False
