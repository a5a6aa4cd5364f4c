"""The interface of schedule rules, and which of them a kind of target has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from relax_mlir.meta_schedule.component import Component, of_kind
from relax_mlir.tir.schedule import BlockRV, Schedule

__all__ = ["PyScheduleRule", "ScheduleRule"]


class ScheduleRule(Component, ABC):
    """Makes schedules of a block: one as it is for a block that it does not know, several where
    there is a choice of structure.  Users' own derive from `PyScheduleRule`."""

    @abstractmethod
    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules; `sch` may be changed and be one of them."""

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules of a kind of target: "llvm" or "cuda".

        Raises ValueError for another kind.
        """
        from relax_mlir.meta_schedule.schedule_rule import defaults

        kinds: dict[str, Callable[[], list[ScheduleRule]]] = {
            "llvm": defaults.llvm,
            "cuda": defaults.cuda,
        }
        return of_kind(kinds, kind, "set of schedule rules for")()


PyScheduleRule = ScheduleRule
"""TVM's name of the class that users derive from."""
