"""A rule: a function of a target that schedules the TensorIR functions it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule

Schedules: TypeAlias = "Schedule | list[Schedule] | None"


class ScheduleRule(ABC):
    """Schedules functions of one kind.

    `apply` returns the scheduled function as a `Schedule`, or None for a function it is not meant
    for.  Only with `tunable` it may return several schedules, or such with sampled decisions.
    """

    @abstractmethod
    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedules:
        """The schedule of `func` for `target`, None when the rule does not apply."""

    def is_target_available(self, target: Target) -> bool:
        """Whether the rule makes schedules for a target."""
        del target
        return True

    @staticmethod
    def from_callable(
        name: str,
    ) -> Callable[[Callable[[PrimFunc, Target, bool], Schedules]], ScheduleRule]:
        """Decorator: a rule, named `name`, of a function with the parameters of `apply`."""

        def decorate(function: Callable[[PrimFunc, Target, bool], Schedules]) -> ScheduleRule:
            def apply(
                self: ScheduleRule, func: PrimFunc, target: Target, tunable: bool
            ) -> Schedules:
                del self
                return function(func, target, tunable)

            return type(name, (ScheduleRule,), {"apply": apply, "__doc__": function.__doc__})()

        return decorate
