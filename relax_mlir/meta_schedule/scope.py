"""Objects that are the current ones inside of a `with`."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["DATABASES", "PROFILERS", "Scoped"]

DATABASES: list[Any] = []
"""The databases whose `with` is entered, the innermost last."""

PROFILERS: list[Any] = []
"""The profilers whose `with` is entered, the innermost last."""


class Scoped:
    """`with thing:` makes it the one that `current()` gives."""

    _entered: ClassVar[list[Any]]

    def __enter__(self) -> Any:
        self._entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered.pop()
