"""What the rules for GPUs have in common."""

from __future__ import annotations

from abc import ABC

from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.target import Target


class GPUScheduleRule(ScheduleRule, ABC):
    """A rule that applies to targets with the key "gpu" only."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a GPU."""
        return "gpu" in target.keys
