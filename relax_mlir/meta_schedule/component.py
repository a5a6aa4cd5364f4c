"""What the parts of the tuner have in common."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["Component", "of_kind"]

Made = TypeVar("Made")
Self = TypeVar("Self", bound="Component")


class Component:
    """A part of the tuner that works for one task at a time."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Learn the task; what a part needs of it, it takes here."""

    def clone(self: Self) -> Self:
        """An independent copy, for another task."""
        return copy.copy(self)


def of_kind(kinds: Mapping[str, Made], kind: str, what: str) -> Made:
    """What a name stands for.  Raises ValueError that lists the names there are for another one."""
    if kind not in kinds:
        raise ValueError(f'there is no {what} "{kind}"; there is: {", ".join(kinds)}')
    return kinds[kind]
