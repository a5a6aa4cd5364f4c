"""Matrix products by tiles of 8x8 elements in the registers of each thread.

A thread multiplies 8 rows by 8 columns for the 16 elements that it reads from shared memory, which
is as much as a multiprocessor multiplies while it reads them: neither waits for the other.  The
operands' tiles lie with the reduction outermost, so that a thread reads its rows and columns as
vectors.  While a slice of the reduction is multiplied the next one is on its way (`cp.async` where
the target has it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.dlight.base.utils import annotate_min_blocks, annotate_unroll, get_bytes, get_extent
from relax_mlir.dlight.gpu.matmul_form import (
    Traits,
    inline_producers,
    walks_rows_fastest,
)
from relax_mlir.dlight.gpu.matmul_tiles import blocks_of, largest_that_fill
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule

__all__ = ["RegisterTiles", "register_tiles", "schedule_register_tiles"]

_LANES = 4
"""Elements of a vector; the 8 rows of a thread are two vectors of neighbours, so that the threads
of a warp read neighbouring vectors."""

_SLICE = 8
"""Elements of the reduction that are in shared memory at a time."""


@dataclass(frozen=True)
class RegisterTiles:
    """Threads of a block along rows and columns; each makes 8x8 elements."""

    threads_y: int
    threads_x: int

    @property
    def rows(self) -> int:
        return 2 * _LANES * self.threads_y

    @property
    def columns(self) -> int:
        return 2 * _LANES * self.threads_x


_TILES = (RegisterTiles(16, 16), RegisterTiles(16, 8), RegisterTiles(8, 16), RegisterTiles(8, 8))


def register_tiles(traits: Traits, dtypes: tuple[str, str, str]) -> RegisterTiles | None:
    """The largest tiles of which a product has one for every multiprocessor; None for a product
    that is too small, or whose sums take more than a register each."""
    if get_bytes(dtypes[2]) > 4 or not all(kind.startswith(("float", "bfloat")) for kind in dtypes):
        return None
    return largest_that_fill(traits, _TILES)


def schedule_register_tiles(
    sch: Schedule,
    block: BlockRV,
    tiles: RegisterTiles,
    take_consumers: Callable[[Schedule, BlockRV], None],
) -> None:
    """Schedule a product in the form that `normalize_matmul` makes.

    `take_consumers` inlines into the block that writes the result what follows it.
    """
    sch.pad_einsum(block, [1, tiles.rows, tiles.columns, _SLICE])
    batch, x, y, k = sch.get_loops(block)
    is_known = all(isinstance(get_extent(sch, loop), int) for loop in (batch, x, y, k))
    by, vy, ty, yi = sch.split(x, [None, 2, tiles.threads_y, _LANES])
    bx, vx, tx, xi = sch.split(y, [None, 2, tiles.threads_x, _LANES])
    ko, ki = sch.split(k, [None, _SLICE])
    sch.reorder(batch, by, bx, vy, vx, ty, tx, ko, ki, yi, xi)
    axes = blocks_of(sch, batch, {"blockIdx.x": by, "blockIdx.y": bx})
    axes |= {"vthread.y": vy, "vthread.x": vx, "threadIdx.y": ty, "threadIdx.x": tx}
    for axis, loop in axes.items():
        sch.bind(loop, axis)
    annotate_unroll(sch, tx, 256, explicit=False)
    annotate_min_blocks(sch, tx)
    write_back = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(write_back, tx, preserve_unit_loops=True)
    sch.vectorize(sch.get_loops(write_back)[-1])
    for number, size in enumerate((tiles.rows, tiles.columns)):
        part = _read_through_shared_memory(sch, block, number, (ko, ki), tiles)
        if is_known:
            sch.transform_layout(part, ("write", 0), _elements_by_vectors(size // 2))
    take_consumers(sch, write_back)
    if is_known:
        sch.transform_layout(write_back, ("read", 0), _sums_by_vectors(tiles))
    sch.decompose_reduction(block, ko)
    sch.annotate(ko, "software_pipeline_stage", [0, 0, 1])
    sch.annotate(ko, "software_pipeline_order", [0, 1, 2])
    sch.annotate(ko, "software_pipeline_async_stages", [0])


def _sums_by_vectors(tiles: RegisterTiles) -> Callable[[Any, Any, Any], list[Any]]:
    """The place of a sum in a thread's registers, without what lies between its two vectors of
    rows and of columns.  (Buffers of unknown sizes keep that: registers are given to what is used.)
    """
    rows, columns = tiles.rows // 2, tiles.columns // 2
    return lambda s, i, j: [s, i // rows, i % rows, j // columns, j % columns]


def _elements_by_vectors(half: int) -> Callable[[Any, Any, Any], list[Any]]:
    """The same of an operand's elements; vectors are `half` of a tile apart."""
    return lambda s, k, i: [s, k, i // half, i % half]


def _read_through_shared_memory(
    sch: Schedule,
    block: BlockRV,
    number: int,
    loops: tuple[LoopRV, LoopRV],
    tiles: RegisterTiles,
) -> BlockRV:
    """Let the threads of a block bring an operand's tile into shared memory, neighbours what lies
    beside each other in the operand; the block by which each reads its part as vectors."""
    ko, ki = loops
    fetch = sch.cache_read(block, number, "shared")
    sch.transform_layout(fetch, ("write", 0), lambda s, i, k: [s, k, i])
    sch.compute_at(fetch, ko, preserve_unit_loops=True)
    inline_producers(sch, fetch)
    part = sch.cache_read(block, number, "local")
    sch.compute_at(part, ki, preserve_unit_loops=True)
    sch.vectorize(sch.get_loops(part)[-1])
    row, column = sch.get_loops(fetch)[-2:]
    by_rows = walks_rows_fastest(sch, fetch)
    if by_rows:
        sch.reorder(column, row)
    fused = sch.fuse(*((column, row) if by_rows else (row, column)))
    factors = [None, tiles.threads_y, tiles.threads_x, _LANES if by_rows else 1]
    _, ty, tx, lanes = sch.split(fused, factors)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(lanes)
    # Rows of vectors, one apart: threads that write a column of the tile meet different banks.
    sch.storage_align(fetch, 0, axis=1, factor=8 * _LANES, offset=_LANES)
    return part
