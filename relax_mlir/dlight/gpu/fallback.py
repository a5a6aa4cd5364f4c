"""The rule for whatever no other rule takes: it schedules every function."""

from __future__ import annotations

from relax_mlir.dlight.analysis.common_analysis import SBlockInfo, normalize_prim_func
from relax_mlir.dlight.base.common_schedules import try_inline
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.opaque import (
    bind_nests,
    keep_private,
    run_by_one_thread,
    statements_to_block,
)
from relax_mlir.errors import ScheduleError
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import LoopRV, Schedule


class Fallback(GPUScheduleRule):
    """A schedule for every function: spatial blocks are inlined where that is possible, and the
    spatial loops of each remaining block are spread over thread blocks and threads.

    A block whose instances depend on their order, and code outside of blocks, is run by one thread.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        threads = max_threads_per_block(target)
        func = statements_to_block(func)
        in_order: set[str] = set()
        while True:
            sch = Schedule(func, error_render_level="fast")
            infos = normalize_prim_func(sch)
            if infos is None:
                sch = Schedule(func, error_render_level="fast")
                bind_nests(sch, threads)
                return sch
            refused = _schedule_blocks(sch, try_inline(sch, infos), threads, in_order)
            if refused is None:
                return sch
            in_order.add(refused)


def _schedule_blocks(
    sch: Schedule, infos: list[SBlockInfo], threads: int, in_order: set[str]
) -> str | None:
    """Schedule every block, those named in `in_order` for one thread; the name of the first block
    whose loops cannot be spread."""
    reductions: list[tuple[SBlockInfo, LoopRV]] = []
    for info in infos:
        if info.name in in_order:
            run_by_one_thread(sch, info.block_rv)
            continue
        try:
            reduction = spread(sch, info, threads)
        except ScheduleError:
            return info.name
        if reduction is not None:
            reductions.append((info, reduction))
    for info, loop in reductions:
        try:
            sch.decompose_reduction(info.block_rv, loop)
        except ScheduleError:
            continue  # the init then runs in the block, when its reduction variables are zero
    return None


def spread(sch: Schedule, info: SBlockInfo, threads: int) -> LoopRV | None:
    """Bind the spatial loops of a block; its outermost reduction loop.

    Raises ScheduleError when they cannot be."""
    loops = {kind: [i.loop_rv for i in info.iters if i.kind == kind] for kind in "SRO"}
    if not loops["S"]:
        run_by_one_thread(sch, info.block_rv)
    else:
        sch.reorder(*loops["S"], *loops["R"], *loops["O"])
        block, thread = sch.split(sch.fuse(*loops["S"]), factors=[None, threads])
        sch.bind(block, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
        keep_private(sch, info.block_rv)
    return loops["R"][0] if loops["R"] else None
