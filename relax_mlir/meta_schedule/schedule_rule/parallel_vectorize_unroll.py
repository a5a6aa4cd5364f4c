"""How loops run: on cores, as lanes, written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.meta_schedule.block_facts import is_pure_spatial, is_root, num_cores
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.tir.schedule import BlockRV, Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = [
    "PARALLEL",
    "UNROLL_EXPLICIT",
    "UNROLL_IMPLICIT",
    "VECTORIZE",
    "ParallelizeVectorizeUnroll",
]

PARALLEL = "meta_schedule.parallel"
VECTORIZE = "meta_schedule.vectorize"
UNROLL_EXPLICIT = "meta_schedule.unroll_explicit"
UNROLL_IMPLICIT = "meta_schedule.unroll_implicit"
"""Annotations of the root block that the postprocessor RewriteParallelVectorizeUnroll reads."""


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Says on the root block how many iterations may run in parallel (`max_jobs_per_core` times
    the cores), as lanes (`max_vectorize_extent`), and how far loops are unrolled (one of
    `unroll_max_steps`); -1 and an empty list say nothing."""

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_vectorize_extent = max_vectorize_extent
        self.unroll_max_steps = list(unroll_max_steps or ())
        self.unroll_explicit = unroll_explicit
        self._max_parallel = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.target is not None and self.max_jobs_per_core != -1:
            self._max_parallel = num_cores(context.target) * self.max_jobs_per_core

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        if not is_root(sch, block):
            return [sch]
        if self._max_parallel != -1:
            sch.annotate(block, PARALLEL, self._max_parallel)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, VECTORIZE, self.max_vectorize_extent)
        if self.unroll_max_steps and not is_pure_spatial(sch):
            each = [1.0 / len(self.unroll_max_steps)] * len(self.unroll_max_steps)
            steps = sch.sample_categorical(self.unroll_max_steps, each)
            sch.annotate(block, UNROLL_EXPLICIT if self.unroll_explicit else UNROLL_IMPLICIT, steps)
        return [sch]
