"""Writing a chain of image operations as a loop over blocks of rows.

A block makes as many new rows of the image as its rows of the result move on by, behind those that
it shares with the block before, in a buffer of so many rows:

    row of the buffer   0 ... shared - 1     the block before has made them
                        shared ... rows - 1  new

The image's border is in the buffer where it is rows; where it is columns, the operation with the
window has it in front of it as before (`convolution/padding.py`).  All sizes are constants.  The
last block may begin earlier than the one before ends, so that it has as many rows as the others.
Of the rows that it would make behind the image's last it makes those before its first instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.image_chain.matching import ImageChain, Step, shape_of
from relax_mlir.lowering.tir_to_linalg.subview import subview
from relax_mlir.mlir import ir, linalg

__all__ = ["emit_in_blocks"]


def emit_in_blocks(b: Builder, chain: ImageChain, rows: int, cores: int) -> None:
    """Emit a chain for blocks of `rows` rows of its result, at the insertion point; several cores
    take an image or a range of its rows each."""
    blocks = -(-chain.output_rows // rows)
    if cores < 2:
        with b.loop(0, chain.images) as image:
            _Piece(b, chain, rows, image).emit(0, blocks)
        return
    pieces = min(blocks, -(-cores // chain.images))
    length = -(-blocks // pieces)
    pieces = -(-blocks // length)
    with b.parallel_loop(chain.images * pieces) as number:
        image, piece = b.floordiv(number, pieces), b.mod(number, pieces)
        first = b.mul(piece, length)
        _Piece(b, chain, rows, image).emit(first, b.minimum(b.add(first, length), blocks))


class _Piece:
    """What one core does of one image."""

    def __init__(self, b: Builder, chain: ImageChain, rows: int, image: Index):
        self.b = b
        self.chain = chain
        self.rows = rows
        self.image = image
        self.shared = chain.window.shared
        self.fresh = rows * chain.window.stride
        self.buffer = _allocate(chain.image, self.shared + self.fresh)
        self.bordered: ir.Value | None = None
        if chain.padding is not None and _has_border_columns(chain):
            bordered = chain.sliding.op.operands[0]
            self.bordered = _allocate(bordered, self.shared + self.fresh)

    def emit(self, first: Index, end: Index) -> None:
        """The blocks from `first` to before `end`."""
        b, chain = self.b, self.chain
        self._begin(self._row(first))
        ahead = _temporaries(chain.ahead, self.fresh, besides=chain.image)
        behind = _temporaries(chain.behind, self.rows, besides=chain.output)
        with b.loop(first, end) as block:
            row = self._row(block)
            self._extend(row, ahead)
            self._end_image(row)
            self._consume(row, behind)
            self._keep_shared(block, row)

    def _row(self, block: Index) -> Index:
        """The first row of a block of the result."""
        b, last = self.b, self.chain.output_rows - self.rows
        row = b.mul(block, self.rows)
        return row if self.chain.output_rows % self.rows == 0 else b.minimum(row, last)

    def _begin(self, row: Index) -> None:
        """Make the rows of the buffer that are shared with the block before, for the block that
        begins with `row` of the result: border above the image's first row, or rows of it."""
        b, chain, window = self.b, self.chain, self.chain.window
        if window.low:
            self._fill(0, window.low)
        first = b.sub(b.mul(row, window.stride), window.low)
        start = b.maximum(first, 0)
        skipped = b.sub(start, first)
        count = self.shared - skipped if isinstance(skipped, int) else self.shared
        if count:
            temporaries = _temporaries(chain.ahead, count, besides=chain.image)
            self._make(start, count, skipped, temporaries)

    def _extend(self, row: Index, temporaries: dict[ir.Value, ir.Value]) -> None:
        """Make the new rows of a block, no row behind the image's last."""
        b, chain, window = self.b, self.chain, self.chain.window
        first = b.add(b.mul(row, window.stride), self.shared - window.low)
        start = first
        at: Index = self.shared
        if chain.rows_behind > 0:
            start = b.minimum(first, chain.image_rows - self.fresh)
            at = b.add(at, b.sub(start, first))
        self._make(start, self.fresh, at, temporaries)

    def _end_image(self, row: Index) -> None:
        """Set the border behind the image's last row, in the last block."""
        border = self.chain.rows_behind
        if border > 0:
            start = self.shared + self.fresh - border
            is_last = self.b.at_least(row, self.chain.output_rows - self.rows)
            self.b.when(is_last, lambda: self._fill(start, border))

    def _make(
        self, start: Index, count: int, at: Index, temporaries: dict[ir.Value, ir.Value]
    ) -> None:
        """Make `count` rows of the image from `start` on, for rows `at` and further of the
        buffer."""
        parts = dict(temporaries)
        parts[self.chain.image] = _rows(self.buffer, at, count)
        self._emit(self.chain.ahead, start, count, parts)

    def _consume(self, row: Index, temporaries: dict[ir.Value, ir.Value]) -> None:
        """What is behind the window, for the rows of a block."""
        chain = self.chain
        parts = dict(temporaries)
        parts[chain.sliding.op.operands[0]] = self._with_border_columns()
        self._emit(chain.behind, row, self.rows, parts)

    def _with_border_columns(self) -> ir.Value:
        """The buffer, in the middle of border columns if the chain has some."""
        padding = self.chain.padding
        if padding is None or self.bordered is None:
            return self.buffer
        fill, _, copy = padding.members
        _clone(fill, [fill.operands[0], self.bordered])
        offsets: list[Index] = [0, 0, *padding.low[2:]]
        middle = subview(self.bordered, offsets, list(shape_of(self.buffer)))
        _clone(copy, [self.buffer, middle])
        return self.bordered

    def _keep_shared(self, block: Index, row: Index) -> None:
        """Move the rows that the next block shares to the front."""
        b = self.b
        if not self.shared:
            return
        moved: Index = self.fresh
        if self.chain.output_rows % self.rows:
            moved = b.mul(b.sub(self._row(b.add(block, 1)), row), self.chain.window.stride)
        source = _rows(self.buffer, moved, self.shared)
        _copy(source, _rows(self.buffer, 0, self.shared))

    def _fill(self, start: int, count: int) -> None:
        padding = self.chain.padding
        assert padding is not None
        fill = padding.members[0]
        _clone(fill, [fill.operands[0], _rows(self.buffer, start, count)])

    def _emit(
        self, steps: Sequence[Step], start: Index, count: int, parts: dict[ir.Value, ir.Value]
    ) -> None:
        """The operations for `count` rows from `start` on; `parts` has the buffers that stand in
        for temporaries."""
        placed = [self._operands(step, start, count, parts) for step in steps]
        for step, operands in zip(steps, placed, strict=True):
            _clone(step.op, operands)

    def _operands(
        self, step: Step, start: Index, count: int, parts: dict[ir.Value, ir.Value]
    ) -> list[ir.Value]:
        """The operands of a step for `count` rows from `start` on."""
        operands: list[ir.Value] = list(step.op.operands)
        for value, by_row, by_image in zip(operands, step.by_row, step.by_image, strict=True):
            if value not in parts and (by_row or by_image):
                image = self.image if by_image else 0
                parts[value] = _part(value, image, by_image, start if by_row else 0, by_row, count)
        return [parts.get(value, value) for value in operands]


def _clone(op: ir.Operation, operands: Sequence[ir.Value]) -> None:
    copy = op.clone()
    for number, operand in enumerate(operands):
        copy.operands[number] = operand


def _copy(source: ir.Value, target: ir.Value) -> None:
    """Copy the elements of a part of a buffer."""
    type_ = ir.MemRefType(source.type)
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
    kinds = [ir.Attribute.parse("#linalg.iterator_type<parallel>")] * type_.rank
    generic = linalg.GenericOp(
        [], [source], [target], ir.ArrayAttr.get([identity] * 2), ir.ArrayAttr.get(kinds)
    )
    body = generic.regions[0].blocks.append(type_.element_type, type_.element_type)
    with ir.InsertionPoint(body):
        linalg.YieldOp([body.arguments[0]])


def _allocate(like: ir.Value, rows: int) -> ir.Value:
    """A temporary for so many rows of one image of a buffer's shape, aligned to a cache line."""
    type_ = ir.MemRefType(like.type)
    shape = [1, rows, *list(type_.shape)[2:]]
    attributes: dict[str, ir.Attribute] = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64),
    }
    made = ir.MemRefType.get(shape, type_.element_type)
    return ir.Operation.create("memref.alloc", [made], [], attributes).result


def _temporaries(steps: Sequence[Step], rows: int, besides: ir.Value) -> dict[ir.Value, ir.Value]:
    """Temporaries for so many rows of what steps write, but for one buffer."""
    written = dict.fromkeys(step.output for step in steps if step.output != besides)
    return {value: _allocate(value, rows) for value in written}


def _part(
    buffer: ir.Value, image: Index, one_image: bool, row: Index, some_rows: bool, rows: int
) -> ir.Value:
    """`one_image` of a buffer, or `some_rows` of it, or both."""
    sizes: list[Index] = list(ir.MemRefType(buffer.type).shape)
    offsets: list[Index] = [image, row, *[0] * (len(sizes) - 2)]
    if one_image:
        sizes[0] = 1
    if some_rows:
        sizes[1] = rows
    return subview(buffer, offsets, sizes)


def _rows(buffer: ir.Value, start: Index, count: int) -> ir.Value:
    """Rows of a buffer that has one image."""
    return _part(buffer, 0, False, start, True, count)


def _has_border_columns(chain: ImageChain) -> bool:
    """Whether the border is more than rows."""
    return shape_of(chain.sliding.op.operands[0])[2] > shape_of(chain.image)[2]
