"""Which tiles of a matrix product a thread block makes: as large as the product has blocks for.
And which block makes which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from relax_mlir.dlight.base.utils import get_extent
from relax_mlir.dlight.gpu.matmul_form import Traits, extent_of
from relax_mlir.tir.schedule import LoopRV, Schedule

__all__ = ["Tiles", "blocks_of", "largest_that_fill"]

_MULTIPROCESSORS = 108
"""Of the smallest GPU that tiles are chosen for (A100): each should have a block."""

_UNKNOWN_EXTENT = 1024
"""What an extent that only run time knows is taken for."""


class Tiles(Protocol):
    """The rows and columns of the result that a thread block makes."""

    @property
    def rows(self) -> int: ...

    @property
    def columns(self) -> int: ...


T = TypeVar("T", bound=Tiles)


def largest_that_fill(traits: Traits, tiles: Sequence[T]) -> T | None:
    """The first of some tiles, the largest first, of which a product has one for every
    multiprocessor."""
    extents = [extent_of(traits, kind) for kind in "SIJ"]
    batch, rows, columns = (x if isinstance(x, int) else _UNKNOWN_EXTENT for x in extents)
    for choice in tiles:
        if batch * -(-rows // choice.rows) * -(-columns // choice.columns) >= _MULTIPROCESSORS:
            return choice
    return None


def blocks_of(sch: Schedule, batch: LoopRV, axis: str, tiles: LoopRV) -> dict[str, LoopRV]:
    """The axes of thread blocks for the products of a batch and the tiles of each: one axis, or
    two where a block's number cannot be taken apart by sizes that only run time knows."""
    if all(isinstance(get_extent(sch, loop), int) for loop in (batch, tiles)):
        return {axis: sch.fuse(batch, tiles)}
    return {axis: tiles, "blockIdx.z": batch}
