"""Pooling of what a Winograd convolution computes, in registers: windows that lie in its tiles next
to each other, as those of 2x2 with strides of two.  The image between is not read again, and not
stored where nothing else reads it.

Windows that overlap have an operation of their own.  Joining them after each chunk of rows, while
those may be in the cache, was measured to take longer: the stem of ResNet with its 3x3 windows
745 us instead of 680, since the data of a chunk fill the second-level cache.  In registers
224x224x64 takes 4.8 ms instead of 5.1 and 0.5 for the pooling.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution, Window
from relax_mlir.lowering.linalg_to_vector.convolution.pooling import is_neutral
from relax_mlir.lowering.linalg_to_vector.convolution.recognition import find_pooling
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_chain import WinogradAxis
from relax_mlir.mlir import ir

__all__ = ["PooledOutput", "TilePooling", "find_tile_pooling"]


@dataclass(frozen=True)
class PooledAxis:
    """One axis: `length` windows of `size` positions, counted by dimension `out` of the nest."""

    size: int
    length: int
    out: int


@dataclass(frozen=True)
class TilePooling:
    """A pooling whose windows each lie in one tile.

    op: the operation, fill: what its output is filled with before; both go with the convolution.
    keeps_image: whether something else reads the image.
    """

    pooling: Convolution
    rows: PooledAxis
    columns: PooledAxis
    op: ir.Operation
    fill: ir.Operation
    keeps_image: bool


class PooledOutput:
    """Joins the windows of a pooling and stores them."""

    def __init__(self, b: Builder, found: TilePooling):
        self.b = b
        self.rows = found.rows
        self.columns = found.columns
        self.pooling = found.pooling
        self.keeps_image = found.keeps_image
        out = found.pooling.out
        self.access = found.pooling.nest.emit_accesses(b, {out})[out]

    def join(self, values: list[ir.Value]) -> ir.Value:
        """The values of a window joined."""
        combiner = self.pooling.combiner
        assert combiner is not None
        result = values[0]
        for value in values[1:]:
            result = self.b.op(combiner.op, result.type, [result, value])
        return result

    def store(self, value: ir.Value, place: tuple[Index, ...], mask: ir.Value | None) -> None:
        """Store a vector at an image, a row, a column and channels of the result."""
        b, access = self.b, self.access
        assert access.view is not None
        image, row, column, channel = place
        walks = [(self.rows.out, row), (self.columns.out, column)]
        walks += [(dim, image) for dim in self.pooling.outer]
        at = b.add(access.base, channel)
        for dim, position in walks:
            at = b.add(at, b.mul(position, access.strides[dim]))
        b.store(value, access.view, at, mask)


def find_tile_pooling(
    image: ir.Value,
    writers: list[ir.Operation],
    axes: tuple[WinogradAxis, WinogradAxis],
    following: list[ir.Operation],
    uses: BufferUses,
) -> TilePooling | None:
    """The pooling that reads `image`, which the last of `writers` writes, tile by tile.

    writers: the operations that go together; axes: those of the rows and columns of tiles.
    """
    readers = [op for op in uses.remaining_users(image, writers[-1]) if op not in writers]
    found = [(op, conv) for op in readers for conv in [_pooling_of(image, op, following)] if conv]
    if len(found) != 1:
        return None
    op, conv = found[0]
    strides = {
        w: conv.nest.stride(conv.out, w.out).factor for w in conv.windows if w.out is not None
    }
    if len(strides) != 2:
        return None
    rows, columns = sorted(conv.windows, key=strides.__getitem__, reverse=True)
    row_axis, column_axis = _pooled(conv, rows, axes[0]), _pooled(conv, columns, axes[1])
    before = following[: following.index(op)]
    out = outputs_of(op)[0]
    fills = [other for other in before if other.name == "linalg.fill" and other.operands[1] == out]
    if row_axis is None or column_axis is None or len(fills) != 1:
        return None
    if not is_neutral(op, fills[0].operands[0]):
        return None
    between = [other for other in before if other != fills[0]]
    read = [v for w in writers for v in w.operands if isinstance(v.type, ir.MemRefType)]
    if any(uses.may_overlap(out, value) for value in read):
        return None
    if not uses.can_move_up(op, writers[-1], between):
        return None
    keeps_image = len(readers) > 1 or not uses.is_temporary(image)
    if keeps_image and any(
        pooled.length * pooled.size != axis.length
        for pooled, axis in zip((row_axis, column_axis), axes, strict=True)
    ):
        return None  # positions that no window has would not be stored
    return TilePooling(conv, row_axis, column_axis, op, fills[0], keeps_image)


def _pooling_of(
    image: ir.Value, op: ir.Operation, following: list[ir.Operation]
) -> Convolution | None:
    """The pooling over rows and columns of `image`, without a border, that an operation is."""
    if op not in following or op.name != "linalg.generic" or op.operands[0] != image:
        return None
    conv = find_pooling(op, None)
    if conv is None or len(conv.windows) != 2 or len(conv.outer) > 1:
        return None
    return conv


def _pooled(conv: Convolution, window: Window, axis: WinogradAxis) -> PooledAxis | None:
    """How an axis is pooled, if its windows follow each other without a gap, and tiles are made of
    whole windows."""
    if window.out is None or window.tap is None or window.checked or window.dilation != 1:
        return None
    size, length = conv.extent(window.tap).static, conv.extent(window.out).static
    if size is None or length is None or size != window.stride:
        return None
    whole = axis.output % size == 0 and length == axis.length // size
    return PooledAxis(size, length, window.out) if whole else None
