"""Groups of stages that are computed at one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.graph import inputs_of
from relax_mlir.te.schedule.stage import ROOT, Stage
from relax_mlir.te.tensor import PlaceholderOp, Tensor
from relax_mlir.tir.expr import IterVar

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule

__all__ = ["Group"]


class Group:
    """Stages that move together; those that have a place of their own in the group keep it."""

    def __init__(self, stages: Sequence[Stage]):
        self.stages = list(stages)
        self.group: Group | None = None
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None
        self.children = list(dict.fromkeys(_outermost(stage) for stage in stages))
        for child in self.children:
            child.group = self

    @property
    def num_child_stages(self) -> int:
        """How many stages and groups are directly in it."""
        return len(self.children)

    @classmethod
    def between(
        cls,
        schedule: Schedule,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        include_inputs: bool,
    ) -> Group:
        """The stages on the ways from inputs to outputs.  Raises ScheduleError if there are
        none."""
        ends = {schedule[t] for t in inputs}
        reached: dict[Stage, bool] = {}

        def visit(stage: Stage) -> bool:
            """Whether the stage is computed from an input."""
            if stage in ends:
                return True
            if stage not in reached:
                reached[stage] = False
                below = [visit(schedule[t]) for t in inputs_of(stage.op)]
                reached[stage] = any(below)
            return reached[stage]

        for tensor in outputs:
            visit(schedule[tensor])
        found = {stage for stage, inside in reached.items() if inside}
        if include_inputs:
            found |= {stage for stage in ends if not isinstance(stage.op, PlaceholderOp)}
        if not found:
            raise ScheduleError("create_group: nothing is computed between inputs and outputs")
        return cls([stage for stage in schedule.stages if stage in found])

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the group, in each iteration of a loop of another stage, as far as that needs
        it."""
        for stage in self._free():
            stage.compute_at(parent, scope)
        self.attach_stage, self.attach_ivar = parent, scope

    def compute_root(self) -> None:
        """Compute the group before what reads it."""
        for stage in self.stages:
            if stage.attach_stage is not None and stage.attach_stage not in self.stages:
                stage.compute_root()
        self.attach_stage = self.attach_ivar = None

    def _free(self) -> list[Stage]:
        """The stages without a place inside of the group."""
        return [
            stage
            for stage in self.stages
            if stage.attach_type == ROOT
            or (stage.attach_stage is not None and stage.attach_stage not in self.stages)
        ]


def _outermost(stage: Stage) -> Stage | Group:
    """The stage, or the outermost group that it is in."""
    found: Stage | Group = stage
    while found.group is not None:
        found = found.group
    return found
