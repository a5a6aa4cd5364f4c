"""Transposes of tiles in registers: square ones, and few rows against whole vectors."""

from __future__ import annotations

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.mlir import ir

__all__ = ["emit_transpose_tile", "interleave_vectors", "transpose_vectors"]


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
            swapped[row] = _shuffle(b, pair, low)
            swapped[row + block] = _shuffle(b, pair, high)
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
            value = _shuffle(b, [value, rows[row]], lane_of)
        made.append(value)
    return made


def _shuffle(b: Builder, pair: list[ir.Value], lanes: list[int]) -> ir.Value:
    attribute = ir.DenseI64ArrayAttr.get(lanes)
    return b.op("vector.shuffle", pair[0].type, pair, {"mask": attribute})


def emit_transpose_tile(
    b: Builder,
    source: FlatView,
    read: Index,
    read_stride: Index,
    target: FlatView,
    write: Index,
    write_stride: Index,
    lanes: int,
) -> None:
    """`target[write + i * write_stride + j] = source[read + j * read_stride + i]`, i, j < lanes."""
    rows = [b.load(source, b.add(read, b.mul(row, read_stride)), lanes) for row in range(lanes)]
    for row, value in enumerate(transpose_vectors(b, rows)):
        b.store(value, target, b.add(write, b.mul(row, write_stride)))
