"""Block and register-tile sizes of matrix products."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget

__all__ = ["TileConfig", "choose_tile"]

_MAX_ROWS = 14
_VECTOR_COUNTS = (1, 2, 3, 4, 5, 8)
# With rows of unknown number, a switch over the heights of a panel follows: keep them few.
_DYNAMIC_ROWS = 8


@dataclass(frozen=True)
class TileConfig:
    """A register tile of `rows` x (`vectors` * `lanes`) elements of C, and cache blocks.

    k_block: length of a block of K while B is packed; unpacked_k_block: while it is not.
    """

    rows: int
    vectors: int
    lanes: int
    k_block: int = 256
    unpacked_k_block: int = 1024
    row_block: int = 256
    column_block: int = 512

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def choose_tile(
    rows: int | None,
    columns: int | None,
    lanes: int,
    target: CPUTarget,
    rows_collide: bool = False,
) -> TileConfig:
    """The tile of least estimated cost for C of `rows` x `columns` (None: known at run time).

    rows_collide: the rows of A that a tile reads share a cache set, so few are better.
    """
    if columns is None:
        height = min(_DYNAMIC_ROWS, rows or _DYNAMIC_ROWS)
        return TileConfig(_fitting_rows(height, 2, target), 2, lanes)
    many = rows is None or rows >= 8 * 4
    if rows_collide and many and columns >= 4 * lanes and target.vector_registers >= 32:
        return TileConfig(4, 4, lanes)
    best: tuple[float, int, int] | None = None
    for vectors in _VECTOR_COUNTS:
        if vectors > 1 and vectors * lanes >= _round_up(columns, lanes) + lanes:
            continue
        limit = _DYNAMIC_ROWS if rows is None else min(rows, _MAX_ROWS)
        for height in range(1, limit + 1):
            if height * vectors + vectors + 1 > target.vector_registers:
                continue
            cost = _cost(rows or 8 * _DYNAMIC_ROWS, columns, height, vectors, lanes)
            if best is None or cost < best[0]:
                best = (cost, height, vectors)
    assert best is not None
    return TileConfig(best[1], best[2], lanes)


def _fitting_rows(height: int, vectors: int, target: CPUTarget) -> int:
    while height > 1 and height * vectors + vectors + 1 > target.vector_registers:
        height -= 1
    return height


def _cost(rows: int, columns: int, height: int, vectors: int, lanes: int) -> float:
    """Multiply-adds issued, padding included, weighted by stalls and by load pressure."""
    accumulators = height * vectors
    panels = -(-columns // (lanes * vectors))
    issued = (rows // height) * panels * accumulators * max(1.0, CHAINS / accumulators)
    rest = rows % height
    if rest:
        issued += panels * rest * vectors * max(1.0, CHAINS / (rest * vectors))
    loads = (height + 2 * vectors) / (2.0 * accumulators)
    return issued * max(1.0, loads) * (1 + 0.02 * abs(accumulators - 16) / 16)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
