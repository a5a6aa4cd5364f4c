"""Block and register-tile sizes of matrix products."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget

__all__ = ["TileConfig", "choose_tile"]

_MAX_ROWS = 14
_VECTOR_COUNTS = (1, 2, 3, 4, 5, 8)
# Loads from the first-level cache in the time that 64 bytes take from the second level: measured,
# tiles of 2 x 8 vectors run at half the rate of 7 x 2, 13 x 1 and 4 x 4 at nine tenths.
_LOADS_FROM_L2 = 4
# With rows of unknown number, a switch over the heights of a panel follows: keep them few.
_DYNAMIC_ROWS = 8
# Measured at 1024^3 and 2048^3, the rows of A in the same cache sets: 6 x 3 vectors are as fast,
# 8 x 2 take one per cent longer, 4 x 4 and 14 x 2 up to five.
_BLOCKED_ROWS = 7


@dataclass(frozen=True)
class TileConfig:
    """A register tile of `rows` x (`vectors` * `lanes`) elements of C, and cache blocks.

    k_block: length of a block of K while B is packed; unpacked_k_block: while it is not.  A packed
    block of B and one of A take half a megabyte together: of more, pages that happen to share the
    sets of the second-level cache push out a part (2 per cent at 1024^3).
    """

    rows: int
    vectors: int
    lanes: int
    k_block: int = 256
    unpacked_k_block: int = 1024
    row_block: int = 256
    column_block: int = 256

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def blocked_rows(self) -> int:
        """How many rows to take at most where blocks of a large B go through the cache."""
        return min(self.rows, _BLOCKED_ROWS)


def choose_tile(
    rows: int | None,
    columns: int | None,
    lanes: int,
    target: CPUTarget,
    in_blocks: bool = False,
) -> TileConfig:
    """The tile of least estimated cost for C of `rows` x `columns` (None: known at run time).

    in_blocks: many rows of A pass blocks of a large B, so that a panel of B, the rows of A that a
    tile reads and the tile's part of C all have to stay in the first-level cache.
    """
    if columns is None:
        height = min(_DYNAMIC_ROWS, rows or _DYNAMIC_ROWS)
        return TileConfig(_fitting_rows(height, 2, target), 2, lanes)
    if in_blocks and columns >= 2 * lanes:
        return TileConfig(_fitting_rows(_BLOCKED_ROWS, 2, target), 2, lanes)
    loads = max(1, _LOADS_FROM_L2 * target.vector_bits // 512)
    best: tuple[float, int, int] | None = None
    for vectors in _VECTOR_COUNTS:
        if vectors > 1 and vectors * lanes >= _round_up(columns, lanes) + lanes:
            continue
        limit = _DYNAMIC_ROWS if rows is None else min(rows, _MAX_ROWS)
        for height in range(1, limit + 1):
            if height * vectors + vectors + 1 > target.vector_registers:
                continue
            cost = _cost(rows or 8 * _DYNAMIC_ROWS, columns, height, vectors, lanes, loads)
            if best is None or cost < best[0]:
                best = (cost, height, vectors)
    assert best is not None
    return TileConfig(best[1], best[2], lanes)


def _fitting_rows(height: int, vectors: int, target: CPUTarget) -> int:
    while height > 1 and height * vectors + vectors + 1 > target.vector_registers:
        height -= 1
    return height


def _cost(rows: int, columns: int, height: int, vectors: int, lanes: int, loads: int) -> float:
    """Cycles of all tiles, twice: multiply-adds issued, padding included, or what is waited for.

    loads: those from the first-level cache that take as long as one of a vector of B, which comes
    from the second level.
    """
    whole, rest = divmod(-(-columns // lanes), vectors)
    cost = 0.0
    for width, count in ((vectors, whole), (rest, 1 if rest else 0)):
        for size, times in ((height, rows // height), (rows % height, 1)):
            if size and count:
                busy = max(size * width, CHAINS, size + loads * width)
                cost += count * times * busy
    return cost * (1 + 0.02 * abs(height * vectors - 16) / 16)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
