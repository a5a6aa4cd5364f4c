"""Products of a matrix and a vector, with elementwise decoding of the matrix before and an epilogue
after."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relax_mlir import mlir
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    has_reduction,
    normalize_prim_func,
)
from relax_mlir.dlight.analysis.gemv import is_gemv, normalize
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import (
    annotate_unroll,
    buffer_bytes,
    elements_per_thread,
    fit_threads,
    get_extent,
    largest_factor,
    max_shared_memory_per_block,
)
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.epilogue import schedule_epilogue, set_scope_of_writes
from relax_mlir.errors import ScheduleError
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import reads_of

_UNROLL = 256


@dataclass(frozen=True)
class Tile:
    """Threads over outputs and over the reduction, and what each thread takes of the latter in a
    step: `elements`, `lanes` of them in one load of the matrix."""

    outputs: int
    reducers: int
    elements: int
    lanes: int
    vector_in_shared_memory: bool


class GEMV(GPUScheduleRule):
    """Threads along threadIdx.x share the reduction of an output, those along threadIdx.y have
    outputs of their own; the vector lies in shared memory where it fits.

    Applies where the matrix's fastest variable is one of the reduction.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if not has_reduction(func):
            return None
        try:
            return _apply(func, target, shared=True)
        except ScheduleError:
            return _apply(func, target, shared=False)


def _apply(func: PrimFunc, target: Target, shared: bool) -> Schedule | None:
    sch = Schedule(func, error_render_level="fast")
    infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
    if not infos or len(infos) > 2 or not infos[-1].iters or not infos[0].is_reduction():
        return None
    info, *rest = infos
    if len(info.iters) not in (2, 3) or (rest and not rest[0].is_injective()):
        return None
    vectors = is_gemv(sch, info)
    if vectors is None or not normalize(sch, info):
        return None
    tile = choose_tile(sch, target, info.block_rv)
    with mlir.scope():
        size = buffer_bytes(vectors[0])
    fits = size is not None and size <= max_shared_memory_per_block(target)
    tile = replace(tile, vector_in_shared_memory=shared and len(vectors) == 1 and fits)
    number = _read_number(sch, info.block_rv, vectors[0])
    _schedule(sch, info.block_rv, tile, number, rest[0] if rest else None)
    return sch


def choose_tile(sch: Schedule, target: Target, block: BlockRV) -> Tile:
    """The sizes for the loops (batch, spatial, reduction, part) of a product."""
    batch, spatial, reduction, part = (get_extent(sch, loop) for loop in sch.get_loops(block))
    static = isinstance(batch, int) and isinstance(spatial, int)
    cuda = target.kind.name in ("cuda", "nvptx")
    outputs, reducers = fit_threads(target, *((16, 32) if static and cuda else (1, 64)))
    if isinstance(part, int) and part > 1:
        elements = part
    else:
        elements = elements_per_thread(reduction, reducers)
    lanes = min(largest_factor(elements, [1, 2, 4, 8]), 4)
    return Tile(outputs, reducers, elements, lanes, False)


def _schedule(
    sch: Schedule, block: BlockRV, tile: Tile, vector: int, epilogue: SBlockInfo | None
) -> None:
    batch, s, r, c = sch.get_loops(block)
    bx, ty = sch.split(sch.fuse(batch, s), factors=[None, tile.outputs])
    r, tx, steps, lanes = sch.split(
        sch.fuse(r, c), factors=[None, tile.reducers, tile.elements // tile.lanes, tile.lanes]
    )
    main = sch.rfactor(tx, 0) if tile.lanes > 1 else block
    if tile.lanes > 1:
        bx, ty, r, tx, steps, lanes = sch.get_loops(main)
    sch.reorder(bx, ty, tx, r, steps, lanes)
    sch.bind(bx, "blockIdx.x")
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    annotate_unroll(sch, r, _UNROLL)
    if tile.lanes > 1:
        _load_in_vectors(sch, main, 1 - vector, steps)
    if tile.vector_in_shared_memory:
        _fetch_vector(sch, main, vector, bx, tile)
    if tile.lanes > 1:
        sch.decompose_reduction(main, r)
        _combine(sch, main, block, bx)
    if epilogue is not None:
        threads = {"threadIdx.x": tile.reducers, "threadIdx.y": tile.outputs}
        schedule_epilogue(sch, block, epilogue.block_rv, bx, threads, tile.outputs)


def _load_in_vectors(sch: Schedule, block: BlockRV, number: int, steps: LoopRV) -> None:
    matrix = sch.cache_read(block, number, "local")
    sch.compute_at(matrix, steps, preserve_unit_loops=True)
    sch.vectorize(sch.get_loops(matrix)[-1])


def _combine(sch: Schedule, partial: BlockRV, block: BlockRV, bx: LoopRV) -> None:
    """Combine the threads' partial results."""
    set_scope_of_writes(sch, partial, "local")
    sch.reverse_compute_at(block, bx, preserve_unit_loops=True)
    _, tx, *outputs = sch.get_loops(block)
    ty = sch.fuse(*outputs)
    sch.reorder(ty, tx)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")


def _fetch_vector(sch: Schedule, block: BlockRV, number: int, bx: LoopRV, tile: Tile) -> None:
    """Let the threads of a block bring the vector into shared memory."""
    fetch = sch.cache_read(block, number, "shared")
    sch.compute_at(fetch, bx, preserve_unit_loops=True)
    fused = sch.fuse(*sch.get_loops(fetch)[1:])
    threads = tile.outputs * tile.reducers
    lanes = elements_per_thread(get_extent(sch, fused), threads)
    factors = [None, tile.outputs, tile.reducers, lanes]
    _, ty, tx, vec = sch.split(fused, factors=factors)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    if lanes > 1:
        sch.vectorize(vec)


def _read_number(sch: Schedule, block: BlockRV, buffer: ir.Value) -> int:
    with mlir.scope():
        return next(n for n, read in enumerate(reads_of(sch.get(block))) if read.buffer == buffer)
