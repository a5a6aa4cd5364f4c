"""Block and register-tile sizes of matrix products."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget

__all__ = ["MAX_COLUMNS", "TileConfig", "choose_tile"]

_MAX_ROWS = 14
_VECTOR_COUNTS = (1, 2, 3, 4, 5, 8)
MAX_COLUMNS = 16 * max(_VECTOR_COUNTS)
"""The most columns of a tile of 32-bit elements."""
# Loads from the first-level cache in the time that 64 bytes take from the second level: measured,
# tiles of 2 x 8 vectors run at half the rate of 7 x 2, 13 x 1 and 4 x 4 at nine tenths.
_LOADS_FROM_L2 = 4
# With rows of unknown number, a switch over the heights of a panel follows: keep them few.
_DYNAMIC_ROWS = 8
# Tiles where blocks of a large B go through the cache, the first with accumulators enough is taken.
# Measured at 1024^3 and 2048^3, the rows of A in the same cache sets: 6 x 3 vectors are as fast as
# 7 x 2, 8 x 2 take one per cent longer, 4 x 4 and 14 x 2 up to five.  Products of bfloat16 take
# three per cent longer in tiles of 7 x 2 than of 6 x 4, of 8 x 2 up to two.
_BLOCKED_TILES = ((7, 2), (6, 4))


@dataclass(frozen=True)
class TileConfig:
    """A register tile of `rows` x (`vectors` * `lanes`) elements of C, and cache blocks.

    chains: how many accumulators keep the units busy.
    k_block: length of a block of K while B is packed; unpacked_k_block: while it is not.  A packed
    block of B and one of A take half a megabyte together: of more, pages that happen to share the
    sets of the second-level cache push out a part (2 per cent at 1024^3).
    """

    rows: int
    vectors: int
    lanes: int
    chains: int = CHAINS
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
        return min(self.rows, max(_BLOCKED_TILES[0][0], -(-self.chains // self.vectors)))


def choose_tile(
    rows: int | None,
    columns: int | None,
    lanes: int,
    target: CPUTarget,
    in_blocks: bool = False,
    chains: int = CHAINS,
) -> TileConfig:
    """The tile of least estimated cost for C of `rows` x `columns` (None: known at run time).

    in_blocks: many rows of A pass blocks of a large B, so that a panel of B, the rows of A that a
    tile reads and the tile's part of C all have to stay in the first-level cache.
    chains: how many accumulators keep the units busy.
    """
    if columns is None:
        height = min(_DYNAMIC_ROWS, rows or _DYNAMIC_ROWS)
        return TileConfig(_fitting_rows(height, 2, target), 2, lanes, chains)
    height, vectors = next(tile for tile in _BLOCKED_TILES if tile[0] * tile[1] >= chains)
    if in_blocks and columns >= vectors * lanes:
        return TileConfig(_fitting_rows(height, vectors, target), vectors, lanes, chains)
    loads = max(1, _LOADS_FROM_L2 * target.vector_bits // 512)
    best: tuple[float, int, int] | None = None
    for vectors in _VECTOR_COUNTS:
        if vectors > 1 and vectors * lanes >= _round_up(columns, lanes) + lanes:
            continue
        limit = _DYNAMIC_ROWS if rows is None else min(rows, _MAX_ROWS)
        for height in range(1, limit + 1):
            if height * vectors + vectors + 1 > target.vector_registers:
                continue
            size = (rows or 8 * _DYNAMIC_ROWS, columns)
            cost = _cost(*size, height, vectors, lanes, loads, chains)
            if best is None or cost < best[0]:
                best = (cost, height, vectors)
    assert best is not None
    return TileConfig(best[1], best[2], lanes, chains)


def _fitting_rows(height: int, vectors: int, target: CPUTarget) -> int:
    while height > 1 and height * vectors + vectors + 1 > target.vector_registers:
        height -= 1
    return height


def _cost(
    rows: int, columns: int, height: int, vectors: int, lanes: int, loads: int, chains: int
) -> float:
    """Cycles of all tiles, twice: multiply-adds issued, padding included, or what is waited for.

    loads: those from the first-level cache that take as long as one of a vector of B, which comes
    from the second level.
    """
    whole, rest = divmod(-(-columns // lanes), vectors)
    cost = 0.0
    for width, count in ((vectors, whole), (rest, 1 if rest else 0)):
        for size, times in ((height, rows // height), (rows % height, 1)):
            if size and count:
                busy = max(size * width, chains, size + loads * width)
                cost += count * times * busy
    return cost * (1 + 0.02 * abs(height * vectors - 16) / 16)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
