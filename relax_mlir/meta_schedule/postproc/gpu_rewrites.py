"""Postprocessors that finish kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import annotation
from relax_mlir.meta_schedule.postproc.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule.multi_level_tiling import COOPERATIVE_FETCH
from relax_mlir.meta_schedule.thread_bind import bind_block_thread_idx
from relax_mlir.tir.schedule import Schedule, nest
from relax_mlir.tir.schedule.annotate import annotations_of
from relax_mlir.tir.schedule.index import as_index

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["RewriteCooperativeFetch", "RewriteUnboundBlock"]


class RewriteCooperativeFetch(Postproc):
    """Divides copies into shared memory among the threads of a block; each takes the elements at a
    time that the block's annotation `meta_schedule.cooperative_fetch` says."""

    def apply(self, sch: Schedule) -> bool:
        with mlir.scope():
            names = [b.sym_name.value for b in _blocks(sch)
                     if COOPERATIVE_FETCH in annotations_of(b)]  # fmt: skip
        threads = _thread_extent(sch)
        for name in names:
            block = sch.get_sblock(name)
            lanes = annotation(sch, block, COOPERATIVE_FETCH)
            sch.unannotate(block, COOPERATIVE_FETCH)
            if threads is None or not isinstance(lanes, int):
                continue
            fused = sch.get_loops(block)[-1]
            if lanes > 1:
                _, inner, vector = sch.split(fused, [None, threads, lanes])
                sch.vectorize(vector)
            else:
                _, inner = sch.split(fused, [None, threads])
            sch.bind(inner, "threadIdx.x")
        return True


class RewriteUnboundBlock(Postproc):
    """Binds blocks that no rule has put on the GPU, on at most `max_threadblocks` blocks of
    threads.  False where that is refused."""

    def __init__(self, max_threadblocks: int = 256) -> None:
        self.max_threadblocks = max_threadblocks
        self._max_threads = 1024

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.target is not None:
            self._max_threads = max_threads_per_block(context.target)

    def apply(self, sch: Schedule) -> bool:
        with mlir.scope():
            names = [b.sym_name.value for b in _blocks(sch) if not _is_on_gpu(b)]
        for name in names:
            block = sch.get_sblock(name)
            try:
                bind_block_thread_idx(
                    sch, block, self.max_threadblocks, self._max_threads, lambda most: most
                )
            except ScheduleError:
                return False
        return True


def _blocks(sch: Schedule) -> list[BlockOp]:
    """The blocks of the functions, without those inside of other blocks."""
    functions = sch.state.prim_functions().values()
    return [block for function in functions for block in nest.child_blocks(function)]


def _is_on_gpu(block: BlockOp) -> bool:
    axes = [nest.thread_axis(loop) or "" for loop in nest.loops_around(block)]
    return any(axis.startswith("blockIdx") for axis in axes)


def _thread_extent(sch: Schedule) -> int | None:
    """The threads of a block along "threadIdx.x"."""
    with mlir.scope():
        for function in sch.state.prim_functions().values():
            for op in nest.descend(function):
                if isinstance(op, ForOp) and nest.thread_axis(op) == "threadIdx.x":
                    return as_index(op.extent).as_constant()
    return None
