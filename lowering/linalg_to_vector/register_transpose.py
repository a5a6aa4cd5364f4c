"""Transposes of tiles in registers: square ones, few rows against whole vectors, and those of which
only the sums of rows are wanted."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.linalg_to_vector.builder import (
    Builder,
    FlatView,
    Index,
    next_power_of_two,
)
from relax_mlir.mlir import ir

__all__ = ["emit_transpose_tile", "interleave_vectors", "lane_totals", "transpose_vectors"]


def transpose_vectors(b: Builder, rows: list[ir.Value]) -> list[ir.Value]:
    """Transpose `n` vectors of `n` elements (a power of two) in log2(n) rounds of shuffles.

    Round s swaps the off-diagonal s x s blocks of every 2s x 2s block, s = n/2 ... 1.
    """
    size = len(rows)
    block = size // 2
    while block:
        low = [lane if not lane & block else lane - block + size for lane in range(size)]
        high = [lane + block if not lane & block else lane + size for lane in range(size)]
        swapped = list(rows)
        for row in range(size):
            if row & block:
                continue
            pair = [rows[row], rows[row + block]]
            swapped[row] = b.shuffle(pair, low)
            swapped[row + block] = b.shuffle(pair, high)
        rows = swapped
        block //= 2
    return rows


def interleave_vectors(b: Builder, rows: list[ir.Value]) -> list[ir.Value]:
    """The elements of `n` vectors of any one length side by side, as `n` vectors: first those at
    position 0 of all, then those at 1."""
    count, lanes = len(rows), ir.VectorType(rows[0].type).shape[0]
    made: list[ir.Value] = []
    for number in range(count):
        # Which vector each element is of, and where in it.
        places = [divmod(number * lanes + lane, count)[::-1] for lane in range(lanes)]
        value = rows[0]
        for row in range(1, count):
            kept = [position if row == 1 else lane for lane, (_, position) in enumerate(places)]
            lane_of = [
                lanes + position if of == row else kept[lane]
                for lane, (of, position) in enumerate(places)
            ]
            value = b.shuffle([value, rows[row]], lane_of)
        made.append(value)
    return made


def lane_totals(
    b: Builder, vectors: list[ir.Value], combine: Callable[[ir.Value, ir.Value], ir.Value]
) -> list[ir.Value]:
    """All lanes of each vector combined to a scalar.

    As many vectors as one has lanes (a power of two) are reduced together: two are halved and
    share a vector, in which each then has blocks of half the size.  Sixteen vectors of sixteen
    lanes take 45 instructions so, one after the other 128.
    """
    lanes = ir.VectorType(vectors[0].type).shape[0]
    totals: list[ir.Value] = []
    for start in range(0, len(vectors), lanes):
        together = vectors[start : start + lanes]
        count = next_power_of_two(len(together))
        padded = together + together[-1:] * (count - len(together))
        block = lanes
        while block > 1:
            half = max(1, len(padded) // 2)
            pairs = zip(padded[:half], padded[-half:], strict=True)
            padded = [_halved(b, pair, block, combine) for pair in pairs]
            block //= 2
        element = ir.VectorType(padded[0].type).element_type
        for number in range(len(together)):
            position = ir.DenseI64ArrayAttr.get([number * (lanes // count)])
            totals.append(b.op("vector.extract", element, padded, {"static_position": position}))
    return totals


def _halved(
    b: Builder,
    pair: tuple[ir.Value, ir.Value],
    block: int,
    combine: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """Each block of the two vectors in half the size, blocks of the first ahead of the second's."""
    lanes, half = ir.VectorType(pair[0].type).shape[0], block // 2
    low = [
        start + vector * lanes + lane
        for start in range(0, lanes, block)
        for vector in (0, 1)
        for lane in range(half)
    ]
    parts = [b.shuffle(pair, [lane + offset for lane in low]) for offset in (0, half)]
    return combine(*parts)


def emit_transpose_tile(
    b: Builder,
    source: FlatView,
    read: Index,
    read_stride: Index,
    target: FlatView,
    write: Index,
    write_stride: Index,
    lanes: int,
    mask: ir.Value | None = None,
) -> None:
    """`target[write + i * write_stride + j] = source[read + j * read_stride + i]`, i, j < lanes;
    zeros for i outside the mask."""
    starts = [b.add(read, b.mul(row, read_stride)) for row in range(lanes)]
    rows = [b.load(source, start, lanes, mask) for start in starts]
    for row, value in enumerate(transpose_vectors(b, rows)):
        b.store(value, target, b.add(write, b.mul(row, write_stride)))
