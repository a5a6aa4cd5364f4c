"""What the rules for GPUs have in common."""

from __future__ import annotations

from abc import ABC

from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.target import Target
from relax_mlir.tir.schedule import LoopRV, Schedule


class GPUScheduleRule(ScheduleRule, ABC):
    """A rule that applies to targets with the key "gpu" only."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a GPU."""
        return "gpu" in target.keys


def annotate_unroll(sch: Schedule, loop: LoopRV, depth: int) -> None:
    """Let the back end write out what is inside of a loop, up to `depth` steps."""
    sch.annotate(loop, ann_key="pragma_auto_unroll_max_step", ann_val=depth)
    sch.annotate(loop, ann_key="pragma_unroll_explicit", ann_val=1)
