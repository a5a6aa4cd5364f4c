"""A design space made of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.mutator import Mutator
from relax_mlir.meta_schedule.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule import ScheduleRule
from relax_mlir.meta_schedule.space_generator.space_generator import SpaceGenerator
from relax_mlir.meta_schedule.utils import initialize
from relax_mlir.tir.schedule import Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["SpaceGeneratorUnion"]


class SpaceGeneratorUnion(SpaceGenerator):
    """The schedules of some generators together; postprocessors and mutators are the union's."""

    def __init__(
        self,
        space_generators: Sequence[SpaceGenerator],
        sch_rules: Sequence[ScheduleRule] | str = "from-target",
        postprocs: Sequence[Postproc] | str = "from-target",
        mutator_probs: Mapping[Mutator, float] | str = "from-target",
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.space_generators = list(space_generators)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        super()._initialize_with_tune_context(context)
        for generator in self.space_generators:
            initialize(generator, context)

    def generate_design_space(self, mod: IRModule, seed: int | None = None) -> list[Schedule]:
        return [s for g in self.space_generators for s in g.generate_design_space(mod, seed)]

    def clone(self) -> SpaceGeneratorUnion:
        made = super().clone()
        assert isinstance(made, SpaceGeneratorUnion)
        made.space_generators = [generator.clone() for generator in self.space_generators]
        return made
