"""What rules, mutators, postprocessors, generators and strategies have in common."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["Component"]

Self = TypeVar("Self", bound="Component")


class Component:
    """A part of the tuner that works for one task at a time."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Learn the task; what a part needs of it, it takes here."""

    def clone(self: Self) -> Self:
        """An independent copy, for another task."""
        return copy.copy(self)
