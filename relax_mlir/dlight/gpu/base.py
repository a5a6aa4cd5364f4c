"""What the rules for GPUs have in common."""

from __future__ import annotations

from abc import ABC

from relax_mlir.dlight.analysis.common_analysis import has_reduction
from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule


class GPUScheduleRule(ScheduleRule, ABC):
    """A rule that applies to targets with the key "gpu" only."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a GPU."""
        return "gpu" in target.keys

    def reduction_schedule(self, func: PrimFunc, target: Target) -> Schedule | None:
        """A schedule to start from, None for what has no reduction or is for another target."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        return Schedule(func, error_render_level="fast") if has_reduction(func) else None
