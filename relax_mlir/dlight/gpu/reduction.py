"""One reduction, with what is computed elementwise before and after it: sums, maxima, means."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import detect_dominant_read, iterators_of
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    is_associative,
    normalize_prim_func,
)
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import (
    annotate_unroll,
    get_extent,
    largest_factor,
    suggest_threads_per_block,
)
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.epilogue import schedule_epilogue
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule

MAX_SPATIAL_THREADS = 16
REDUCTION_THREADS = 16
"""Threads along the reduction when those along threadIdx.x are spatial."""


@dataclass(frozen=True)
class ReductionNest:
    """The loops of a reduction in the order in which its input lies in memory."""

    spatial: LoopRV
    reduction: LoopRV
    inner_extent: int | str
    """Extent of the spatial variable that the input steps through fastest."""
    is_inner_reduction: bool


class Reduction(GPUScheduleRule):
    """Partial results in the threads of a block, combined across them.

    Where the input's fastest variable is one of the reduction, a block makes one output; otherwise
    threadIdx.x walks over outputs and threadIdx.y over the reduction.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        sch = self.reduction_schedule(func, target)
        if sch is None:
            return None
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) > 2:
            return None
        info, *rest = infos
        epilogue = rest[0] if rest else None
        if epilogue is not None and not epilogue.is_injective():
            return None
        if not info.is_reduction() or "R" not in info.dom_kind():
            return None
        if not is_associative(sch, info):
            return None
        loops = normalize_nest(sch, info)
        if loops is None:
            return None
        if loops.is_inner_reduction:
            schedule_inner_reduction(sch, target, info.block_rv, loops, epilogue)
        else:
            _schedule_inner_spatial(sch, info.block_rv, loops, epilogue)
        return sch


def normalize_nest(sch: Schedule, info: SBlockInfo) -> ReductionNest | None:
    """Bring the loops into the order of the dominant input, and fuse those of a kind."""
    with mlir.scope():
        block: BlockOp = sch.get(info.block_rv)
        dominant = detect_dominant_read(block)
        order = None if dominant is None else iterators_of(block, dominant)
    if not order or any(it.lower_factor > 1 for it in order):
        return None
    walked = [info.iters[it.var] for it in order]
    missing = [i for n, i in enumerate(info.iters) if n not in {it.var for it in order}]
    if any(i.dom != 1 for i in missing):
        return None
    ordered = [*missing, *walked]
    spatial = [i for i in ordered if i.kind == "S"]
    reduction = [i for i in ordered if i.kind == "R"]
    if len(spatial) + len(reduction) != len(ordered):
        return None
    loops = [i.loop_rv for i in spatial] or [sch.add_unit_loop(info.iters[0].loop_rv)]
    sch.reorder(*loops, *(i.loop_rv for i in reduction))
    inner = spatial[-1].dom if spatial else 1
    fused = sch.fuse(*loops), sch.fuse(*(i.loop_rv for i in reduction))
    return ReductionNest(*fused, inner, walked[-1].kind == "R")


def schedule_inner_reduction(
    sch: Schedule,
    target: Target,
    block: BlockRV,
    loops: ReductionNest,
    epilogue: SBlockInfo | None = None,
) -> None:
    """Let a block of threads make each result of a reduction along its input's last dimension."""
    bx = loops.spatial
    (threads,) = suggest_threads_per_block(target, [get_extent(sch, loops.reduction)])
    r, tx = sch.split(loops.reduction, factors=[None, threads])
    sch.reorder(bx, tx, r)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    annotate_unroll(sch, r, 256)
    if epilogue is not None:
        schedule_epilogue(sch, block, epilogue.block_rv, bx, {"threadIdx.x": threads}, 1)


def _schedule_inner_spatial(
    sch: Schedule, block: BlockRV, loops: ReductionNest, epilogue: SBlockInfo | None
) -> None:
    threads = largest_factor(loops.inner_extent, range(1, MAX_SPATIAL_THREADS + 1))
    bx, tx = sch.split(loops.spatial, factors=[None, threads])
    r, ty = sch.split(loops.reduction, factors=[None, REDUCTION_THREADS])
    sch.reorder(bx, tx, ty, r)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    annotate_unroll(sch, r, 256)
    if epilogue is not None:
        sizes = {"threadIdx.y": REDUCTION_THREADS, "threadIdx.x": threads}
        schedule_epilogue(sch, block, epilogue.block_rv, bx, sizes, threads)
