"""Which operations slide windows over an image, with the border that they do without."""

from __future__ import annotations

from functools import partial

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses
from relax_mlir.lowering.linalg_to_vector.convolution.matching import (
    Convolution,
    arrange_convolution,
    parse_convolution,
    parse_windows,
)
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding, find_padding
from relax_mlir.lowering.linalg_to_vector.convolution.pooling import (
    arrange_pooling,
    is_neutral,
    is_pooling,
)
from relax_mlir.mlir import ir

__all__ = ["find_bordered", "find_pooling", "find_window_operation"]


def find_window_operation(
    op: ir.Operation, uses: BufferUses
) -> tuple[Convolution, Padding | None] | None:
    """The convolution or pooling that an operation is, and how its data were padded if it does
    without their border; None for any other operation."""
    if op.name != "linalg.generic" or len(op.operands) != 3:
        return None
    bordered = find_bordered(op, uses)
    if bordered is not None:
        return bordered
    parsed = parse_convolution(op, None)
    conv = None if parsed is None else arrange_convolution(*parsed, None)
    conv = conv or find_pooling(op, None)
    return None if conv is None else (conv, None)


def find_bordered(op: ir.Operation, uses: BufferUses) -> tuple[Convolution, Padding] | None:
    """The convolution or pooling that an operation is on data whose border need not be made."""
    if op.name != "linalg.generic" or not isinstance(op.operands[0].type, ir.MemRefType):
        return None
    padding = find_padding(op.operands[0], op, uses)
    parsed = None if padding is None else parse_convolution(op, padding)
    conv = None if parsed is None else arrange_convolution(*parsed, None)
    if padding is None or conv is None:
        padding = find_padding(op.operands[0], op, uses, partial(is_neutral, op))
        conv = None if padding is None else find_pooling(op, padding)
    return None if padding is None or conv is None else (conv, padding)


def find_pooling(op: ir.Operation, padding: Padding | None) -> Convolution | None:
    """The pooling that an operation is, if it is one."""
    parsed = parse_windows(op, padding, is_pooling) if len(op.operands) == 3 else None
    return None if parsed is None else arrange_pooling(*parsed)
