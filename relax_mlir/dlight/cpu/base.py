"""What the rules for CPUs have in common."""

from __future__ import annotations

from abc import ABC

from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.target import Target


class CPUScheduleRule(ScheduleRule, ABC):
    """A rule that applies to targets with the key "cpu" only."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the target is a CPU."""
        return "cpu" in target.keys


def vector_bits(target: Target) -> int:
    """The width of the target's vectors: what it says (`vector-width`), else the host's."""
    given = target.attrs.get("vector-width", target.attrs.get("vector_width"))
    if given is not None:
        return int(given)
    from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu

    return host_cpu().vector_bits
