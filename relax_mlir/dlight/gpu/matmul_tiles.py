"""Which tiles of a matrix product a thread block makes: as large as the product has blocks for.
And which block makes which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from relax_mlir.dlight.base.utils import get_extent
from relax_mlir.dlight.gpu.matmul_form import Traits, extent_of
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule

__all__ = [
    "FRAGMENT_ROWS", "WARP", "Layout", "Tiles", "blocks_of", "in_fragments", "largest_that_fill",
    "spread_over_warps", "write_back_by_warps",
]  # fmt: skip

WARP = 32
FRAGMENT_ROWS = 16
_LANES_OUT = 4

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
    products = get_extent(sch, batch)
    extents = [get_extent(sch, loop) for loop in tiles.values()]
    known = [extent for extent in extents if isinstance(extent, int)]
    if len(known) < len(extents):
        return {**tiles, "blockIdx.z": batch}
    axis, outer = next(iter(tiles.items()))
    if isinstance(products, int) and products * known[0] <= DeviceLimits().largest(axis):
        return {**tiles, axis: sch.fuse(batch, outer)}
    return {"blockIdx.x": sch.fuse(batch, *tiles.values())}


Layout: TypeAlias = "Callable[[Any, Any], tuple[Any, Any]]"


def in_fragments(columns: int, layout: Layout) -> Callable[[Any, Any, Any], list[Any]]:
    """The place of an element in registers of warps that hold tiles of 16 rows: batch, tile,
    thread, register."""

    def place(s: Any, i: Any, j: Any) -> list[Any]:
        return [s, i // FRAGMENT_ROWS, j // columns, *layout(i % FRAGMENT_ROWS, j % columns)]

    return place


def spread_over_warps(
    sch: Schedule, fetch: BlockRV, warps: int, lanes: int, *, by_rows: bool
) -> None:
    """Let the threads of some warps copy a tile, neighbours what lies beside each other: its
    columns, or `by_rows` its rows; each `lanes` elements at a time."""
    row, column = sch.get_loops(fetch)[-2:]
    if by_rows:
        sch.reorder(column, row)
    fused = sch.fuse(*((column, row) if by_rows else (row, column)))
    _, warp, lane, vector = sch.split(fused, [None, warps, WARP, lanes])
    sch.bind(lane, "threadIdx.x")
    sch.bind(warp, "threadIdx.y")
    sch.vectorize(vector)


def write_back_by_warps(sch: Schedule, staged: BlockRV) -> None:
    """Let each warp copy its tile of the result out, four elements a thread at a time."""
    _, lane, vector = sch.split(sch.fuse(*sch.get_loops(staged)[-2:]), [None, WARP, _LANES_OUT])
    sch.bind(lane, "threadIdx.x")
    sch.vectorize(vector)
