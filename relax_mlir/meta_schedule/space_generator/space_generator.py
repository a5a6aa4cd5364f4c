"""The interface of design spaces, and the rules that belong to one."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.component import Component
from relax_mlir.meta_schedule.mutator import Mutator
from relax_mlir.meta_schedule.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule import ScheduleRule
from relax_mlir.meta_schedule.utils import initialize
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["PySpaceGenerator", "SpaceGenerator", "kind_of_target"]

ScheduleFnType: TypeAlias = "Callable[[Schedule], Schedule | list[Schedule] | None]"
"""A function that schedules in place and returns nothing, or returns the schedules of a space."""


class SpaceGenerator(Component, ABC):
    """Says which schedules there are of a workload: traces whose decisions are drawn later.

    With it go the rules that make the space, the postprocessors that finish a schedule, and the
    mutators with their probabilities that change one: lists, the name of a kind of target ("llvm",
    "cuda"), or "from-target" for those of the task's target.
    """

    def __init__(
        self,
        sch_rules: Sequence[ScheduleRule] | str = "from-target",
        postprocs: Sequence[Postproc] | str = "from-target",
        mutator_probs: Mapping[Mutator, float] | str = "from-target",
    ) -> None:
        self._seed: int | None = None  # of the task; by the system before there is one
        self.sch_rules: list[ScheduleRule] | None = _given(sch_rules, ScheduleRule.create)
        self.postprocs: list[Postproc] | None = _given(postprocs, Postproc.create)
        self.mutator_probs: dict[Mutator, float] | None = _given_probs(mutator_probs)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._seed = context.fork_seed()
        kind = "llvm" if context.target is None else kind_of_target(context.target)
        if self.sch_rules is None:
            self.sch_rules = ScheduleRule.create(kind)
        if self.postprocs is None:
            self.postprocs = Postproc.create(kind)
        if self.mutator_probs is None:
            self.mutator_probs = Mutator.create(kind)
        for part in (*self.sch_rules, *self.postprocs, *self.mutator_probs):
            initialize(part, context)

    @abstractmethod
    def generate_design_space(self, mod: IRModule, seed: int | None = None) -> list[Schedule]:
        """The schedules of the space, with decisions drawn from `seed`."""

    def clone(self) -> SpaceGenerator:
        made = copy.copy(self)
        if self.sch_rules is not None:
            made.sch_rules = [rule.clone() for rule in self.sch_rules]
        if self.postprocs is not None:
            made.postprocs = [postproc.clone() for postproc in self.postprocs]
        if self.mutator_probs is not None:
            made.mutator_probs = {m.clone(): p for m, p in self.mutator_probs.items()}
        return made

    @staticmethod
    def create(
        kind: str | ScheduleFnType = "post-order-apply", *args: Any, **kwargs: Any
    ) -> SpaceGenerator:
        """A generator: "post-order-apply", "union", the name of a kind of target for its rules, or
        a function that schedules, whose schedules no mutator changes unless some are given.

        Raises ValueError for another name.
        """
        from relax_mlir.meta_schedule import space_generator

        if not isinstance(kind, str):
            none: dict[str, Any] = {"sch_rules": [], "postprocs": [], "mutator_probs": {}}
            return space_generator.ScheduleFn(kind, *args, **{**none, **kwargs})
        if kind == "post-order-apply":
            return space_generator.PostOrderApply(*args, **kwargs)
        if kind == "union":
            return space_generator.SpaceGeneratorUnion(*args, **kwargs)
        return space_generator.PostOrderApply(sch_rules=kind, postprocs=kind, mutator_probs=kind)


PySpaceGenerator = SpaceGenerator
"""TVM's name of the class that users derive from."""


def kind_of_target(target: Target) -> str:
    """Which rules a target has: "cuda" for GPUs, else "llvm"."""
    return "llvm" if target.device_type == "cpu" else "cuda"


def _given(parts: Sequence[Any] | str, create: Callable[[str], list[Any]]) -> list[Any] | None:
    if parts == "from-target":
        return None
    return create(parts) if isinstance(parts, str) else list(parts)


def _given_probs(parts: Mapping[Mutator, float] | str) -> dict[Mutator, float] | None:
    if parts == "from-target":
        return None
    return Mutator.create(parts) if isinstance(parts, str) else dict(parts)
