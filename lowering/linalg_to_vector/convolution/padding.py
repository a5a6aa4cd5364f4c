"""Borders that a convolution can do without: data copied into the middle of zeros."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.buffers import (
    ALLOCATIONS,
    BufferUses,
    outputs_of,
    static_offsets,
)
from relax_mlir.lowering.linalg_to_vector.builder import defining_op, is_zero_constant
from relax_mlir.mlir import ir

__all__ = ["Padding", "find_padding"]


@dataclass(frozen=True)
class Padding:
    """A temporary that surrounds `source` by zeros.

    low: elements before the first of the source, along each axis.
    members: the operations that make the temporary, in order.
    """

    source: ir.Value
    low: tuple[int, ...]
    members: tuple[ir.Operation, ...]


def find_padding(
    buffer: ir.Value,
    reader: ir.Operation,
    uses: BufferUses,
    is_filler: Callable[[ir.Value], bool] | None = None,
) -> Padding | None:
    """How a buffer that `reader` reads was padded; None if it is no such buffer, or if something
    else touches it or writes its source in between.  `is_filler` tells what may surround the data
    instead of zero."""
    allocation = defining_op(buffer)
    if allocation is None or allocation.name not in ALLOCATIONS:
        return None
    others = uses.remaining_users(buffer, reader)
    fills = [op for op in others if op.name == "linalg.fill"]
    views = [op for op in others if op.name == "memref.subview"]
    if (
        len(others) != 2
        or len(fills) != 1
        or len(views) != 1
        or not (is_filler or is_zero_constant)(fills[0].operands[0])
    ):
        return None
    users = [use.owner.operation for use in views[0].result.uses]
    if len(users) != 1 or not _is_copy(users[0]):
        return None
    copy = users[0]
    order = [fills[0], views[0], copy, reader]
    if any(op.block != reader.block for op in order) or not fills[0].is_before_in_block(copy):
        return None
    if not copy.is_before_in_block(reader):
        return None
    source, low = _placed(copy, views[0])
    if source is None or low is None or not _stays(source, copy, reader, uses):
        return None
    return Padding(source, low, (fills[0], views[0], copy))


def _is_copy(op: ir.Operation) -> bool:
    """Whether a `linalg.generic` only hands its one input on, index by index."""
    if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [1, 1]:
        return False
    block = op.regions[0].blocks[0]
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    same = maps[0] == maps[1] == ir.AffineMap.get_identity(maps[0].n_dims)
    yielded = list(block.operations)[-1].operation.operands[0]
    return same and len(list(block.operations)) == 1 and yielded == block.arguments[0]


def _placed(
    copy: ir.Operation, view: ir.Operation
) -> tuple[ir.Value | None, tuple[int, ...] | None]:
    """The whole buffer that is copied, and where its first element lands."""
    source = copy.operands[0]
    inner = defining_op(source)
    if inner is not None and inner.name == "memref.subview":
        # All of the buffer, where a size is only known at run time.
        offsets = static_offsets(inner)
        whole = offsets is not None and not any(offsets)
        source = inner.operands[0]
        if not whole or list(ir.MemRefType(source.type).shape) != list(
            ir.MemRefType(inner.result.type).shape
        ):
            return None, None
    return source, static_offsets(view)


def _stays(source: ir.Value, copy: ir.Operation, reader: ir.Operation, uses: BufferUses) -> bool:
    """Whether nothing writes the source between the copy and the reader."""
    between = _between(copy, reader)
    written = [w for op in between for w in uses.written_by(op)]
    mine = outputs_of(reader)
    return not any(uses.may_overlap(w, source) for w in [*written, *mine])


def _between(first: ir.Operation, last: ir.Operation) -> Sequence[ir.Operation]:
    found: list[ir.Operation] = []
    for view in first.block.operations:
        op = view.operation
        if first.is_before_in_block(op) and op.is_before_in_block(last):
            found.append(op)
    return found
