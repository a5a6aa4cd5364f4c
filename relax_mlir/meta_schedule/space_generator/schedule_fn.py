"""A design space that a user's function makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.mutator import Mutator
from relax_mlir.meta_schedule.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule import ScheduleRule
from relax_mlir.meta_schedule.space_generator.space_generator import (
    ScheduleFnType,
    SpaceGenerator,
)
from relax_mlir.tir.schedule import Schedule

__all__ = ["ScheduleFn"]


class ScheduleFn(SpaceGenerator):
    """`sch_fn(sch)` schedules in place, with sampled decisions, and returns None; or it returns a
    schedule, or a list of them."""

    def __init__(
        self,
        sch_fn: ScheduleFnType,
        sch_rules: Sequence[ScheduleRule] | str = "from-target",
        postprocs: Sequence[Postproc] | str = "from-target",
        mutator_probs: Mapping[Mutator, float] | str = "from-target",
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule, seed: int | None = None) -> list[Schedule]:
        sch = Schedule(mod, seed=self._seed if seed is None else seed)
        made = self.sch_fn(sch)
        if made is None:
            return [sch]
        if isinstance(made, Schedule):
            return [made]
        if not isinstance(made, (list, tuple)) or not all(isinstance(s, Schedule) for s in made):
            raise TypeError(
                "a schedule function returns None, a Schedule or a list of Schedules, not "
                f"{type(made).__name__}"
            )
        return list(made)
