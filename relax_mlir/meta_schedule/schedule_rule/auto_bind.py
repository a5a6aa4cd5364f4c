"""Blocks that no other rule has put on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.dlight.base.utils import max_threads_per_block as threads_of
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import op_of
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.meta_schedule.thread_bind import bind_block_thread_idx, factor_sampler
from relax_mlir.tir.schedule import BlockRV, Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["AutoBind"]


class AutoBind(ScheduleRule):
    """Runs the spatial loops of a block on the blocks and threads of a GPU; the threads of a block
    are one of `thread_extents`."""

    def __init__(
        self,
        max_threadblocks: int = 256,
        thread_extents: Sequence[int] | None = None,
        max_threads_per_block: int = -1,
    ) -> None:
        self.max_threadblocks = max_threadblocks
        self.thread_extents = list(thread_extents or (32, 64, 128, 256, 512, 1024))
        self.max_threads_per_block = max_threads_per_block

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if self.max_threads_per_block == -1 and context.target is not None:
            self.max_threads_per_block = threads_of(context.target)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        if op_of(sch, block) is None:
            return [sch]
        original = sch.copy()
        factor = factor_sampler(sch, self.thread_extents)
        try:
            bind_block_thread_idx(
                sch, block, self.max_threadblocks, self.max_threads_per_block, factor
            )
        except ScheduleError:
            return [original]
        return [sch]
