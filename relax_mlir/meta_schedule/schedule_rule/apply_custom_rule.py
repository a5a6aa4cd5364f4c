"""Rules that a program names on its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.errors import Error
from relax_mlir.meta_schedule.block_facts import annotation
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.runtime.registry import get_global_func
from relax_mlir.tir.schedule import BlockRV, Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["ApplyCustomRule"]

_PREFIXES = ("s_tir.meta_schedule", "meta_schedule")
_OF_TOPI = ("meta_schedule.pool_", "meta_schedule.adaptive_pool_")


class ApplyCustomRule(ScheduleRule):
    """Schedules a block with the annotation `schedule_rule = "name"` by the registered function
    `s_tir.meta_schedule.<key>.<name>`, or `meta_schedule.<key>.<name>`, of the first of the
    target's keys that has one: it takes the schedule and the block and returns schedules.

    Raises Error where no such function is registered; the name "None" leaves a block alone, and so
    do the names of topi's pooling where nobody has registered functions for them.
    """

    def __init__(self) -> None:
        self._keys: list[str] = []

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        target = context.target
        self._keys = [] if target is None else [*target.keys, target.kind.name]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        name = annotation(sch, block, "schedule_rule")
        if name is None or name == "None":
            return [sch]
        names = [f"{prefix}.{key}.{name}" for key in self._keys for prefix in _PREFIXES]
        for full_name in names:
            function = get_global_func(full_name, allow_missing=True)
            if function is not None:
                return list(function(sch, block))
        if str(name).startswith(_OF_TOPI):
            return [sch]
        raise Error(
            f'no function is registered for the schedule rule "{name}" of a block',
            hint=f"register one of: {', '.join(names)}",
        )
