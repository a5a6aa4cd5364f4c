"""Where blocks are computed."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import (
    annotation,
    has_consumers,
    is_tiled,
    op_of,
)
from relax_mlir.meta_schedule.schedule_rule.add_rfactor import RANDOM_COMPUTE_PRODUCER
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.tir.schedule import BlockRV, Schedule, nest

__all__ = ["RandomComputeLocation"]


class RandomComputeLocation(ScheduleRule):
    """Computes a block that others read in one of their loops, at the position that a decision
    says."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        if not _may_move(sch, block):
            return [sch]
        producers: list[BlockRV] = []
        if annotation(sch, block, RANDOM_COMPUTE_PRODUCER) is not None:
            producers = sch.get_producers(block)
            sch.unannotate(block, RANDOM_COMPUTE_PRODUCER)
        for moved in [block, *producers]:
            before = sch.copy()
            try:
                loop = sch.sample_compute_location(moved)
                sch.compute_at(moved, loop, True)
            except ScheduleError:
                sch = before  # without the decision that was refused
        return [sch]


def _may_move(sch: Schedule, block: BlockRV) -> bool:
    op = op_of(sch, block)
    with mlir.scope():
        if op is None or nest.scope_of(op) not in sch.state.prim_functions().values():
            return False
        loops = nest.loops_around(op)
        alone = bool(loops) and len(nest.child_blocks(loops[0])) == 1
        if not alone or is_tiled(op):
            return False
    return has_consumers(sch, block)
