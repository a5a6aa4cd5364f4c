"""What has been read of values, while the IR they are in is not changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.tir.schedule.index import Index


@dataclass
class Facts:
    """The expressions of index values, and what functions have found of operations and
    values, so far."""

    expressions: dict[ir.Value, Index] = field(default_factory=dict)
    found: dict[tuple[Any, ...], Any] = field(default_factory=dict)


known_facts: ContextVar[Facts | None] = ContextVar("known_facts", default=None)


@contextmanager
def unchanged() -> Iterator[None]:
    """While no operation is changed or erased: what is read of a value is read once.

    For the conditions of primitives, which ask the same of every pair of blocks.
    """
    token = known_facts.set(Facts())
    try:
        yield
    finally:
        known_facts.reset(token)


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_NOTHING = object()


def remembered(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function of operations and values that is asked once for the same ones while the IR is
    `unchanged`.  It takes no keywords; its result is shared: the caller does not change it."""

    asked = cast("Callable[..., Any]", function)

    @wraps(function)
    def ask(*arguments: Any) -> Any:
        known = known_facts.get()
        if known is None:
            return asked(*arguments)
        key = (function, *arguments)
        found = known.found.get(key, _NOTHING)
        if found is _NOTHING:
            found = known.found[key] = asked(*arguments)
        return found

    return cast("Callable[_Arguments, _Result]", ask)
