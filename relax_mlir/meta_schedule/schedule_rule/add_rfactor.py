"""Parallel reductions: partial results that are combined afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import loop_kind, needs_rfactor, num_cores, op_of
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["RANDOM_COMPUTE_PRODUCER", "AddRFactor", "fuse_reduction_loops"]

RANDOM_COMPUTE_PRODUCER = "meta_schedule.random_compute_producer"
"""Annotation of a block whose producer is to be computed somewhere inside of its loops."""


class AddRFactor(ScheduleRule):
    """Splits the reduction of a block that has few spatial iterations, and factors out either
    part; the block as it is stays in the space.

    `max_jobs_per_core` times the cores says how many iterations are enough for all cores.
    """

    def __init__(
        self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_innermost_factor = max_innermost_factor
        self._max_parallel = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.target is not None and self.max_jobs_per_core != -1:
            self._max_parallel = num_cores(context.target) * self.max_jobs_per_core

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = op_of(sch, block)
        with mlir.scope():
            if op is None or not needs_rfactor(op, self._max_parallel):
                return [sch]
        original = sch.copy()
        try:
            reduction, num_spatial = fuse_reduction_loops(sch, block)
        except ScheduleError:
            return [original]
        factors = sch.sample_perfect_tile(reduction, 2, self.max_innermost_factor or -1)
        space: list[Schedule] = []
        for split in sch.split(reduction, factors):
            factored = sch.copy()
            try:
                factored.rfactor(split, num_spatial)
            except ScheduleError:
                continue
            factored.annotate(block, RANDOM_COMPUTE_PRODUCER, 1)
            space.append(factored)
        return [*space, original]


def fuse_reduction_loops(sch: Schedule, block: BlockRV) -> tuple[LoopRV, int]:
    """Put the reduction loops of a block innermost as one; that loop and how many are around it."""
    loops = sch.get_loops(block)
    with mlir.scope():
        op = op_of(sch, block)
        assert op is not None, "the root block has no reduction"
        kinds = [loop_kind(op, sch.get(loop)) for loop in loops]
    spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "S"]
    reductions = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == "R"]
    if spatial + reductions != loops:
        sch.reorder(*spatial, *reductions)
    fused = sch.fuse(*reductions) if len(reductions) > 1 else reductions[0]
    return fused, len(spatial)
