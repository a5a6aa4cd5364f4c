"""Reductions that the threads of a block make together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir import mlir
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import needs_rfactor, op_of
from relax_mlir.meta_schedule.schedule_rule.add_rfactor import fuse_reduction_loops
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.tir.schedule import BlockRV, Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["CrossThreadReduction"]


class CrossThreadReduction(ScheduleRule):
    """Binds a part of the reduction of a block to threads, one of `thread_extents` of them; the
    block as it is stays in the space.

    Other than TVM's, the rule leaves the block where it is: it is not moved into its consumer.
    """

    def __init__(self, thread_extents: Sequence[int]) -> None:
        if any(extent <= 0 for extent in thread_extents):
            raise ValueError(f"thread_extents are positive, got {list(thread_extents)}")
        self.thread_extents = list(thread_extents)
        self._max_threads = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        target = context.target
        is_gpu = target is not None and "gpu" in target.keys
        self._max_threads = max_threads_per_block(target) if target and is_gpu else -1

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = op_of(sch, block)
        with mlir.scope():
            if op is None or self._max_threads == -1 or not needs_rfactor(op, self._max_threads):
                return [sch]
        together = sch.copy()
        extents = [extent for extent in self.thread_extents if extent <= self._max_threads]
        try:
            reduction, _ = fuse_reduction_loops(together, block)
            threads = together.sample_categorical(extents, [1.0 / len(extents)] * len(extents))
            together.bind(together.split(reduction, [None, threads])[1], "threadIdx.x")
        except ScheduleError:
            return [sch]
        return [together, sch]
