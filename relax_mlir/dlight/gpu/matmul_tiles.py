"""Which tiles of a matrix product a thread block makes: as large as the product has blocks for.
And which block makes which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from relax_mlir.dlight.base.utils import get_extent
from relax_mlir.dlight.gpu.matmul_form import Traits, extent_of
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
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


def blocks_of(sch: Schedule, batch: LoopRV, tiles: Mapping[str, LoopRV]) -> dict[str, LoopRV]:
    """The axes of thread blocks for a batch of products and, inside of it, the tiles of each;
    `tiles` names their axes, the outer loop first.

    The batch shares the outer axis.  Where it may have more blocks than a device takes along
    that, all are along "blockIdx.x"; but where only run time knows how many tiles there are, a
    block's number cannot be taken apart, and the batch is "blockIdx.z".
    """
    products, *extents = (get_extent(sch, loop) for loop in (batch, *tiles.values()))
    if not all(isinstance(extent, int) for extent in extents):
        return {**tiles, "blockIdx.z": batch}
    axis, outer = next(iter(tiles.items()))
    if isinstance(products, int) and products * extents[0] <= DeviceLimits().largest(axis):
        return {**tiles, axis: sch.fuse(batch, outer)}
    return {"blockIdx.x": sch.fuse(batch, *tiles.values())}
