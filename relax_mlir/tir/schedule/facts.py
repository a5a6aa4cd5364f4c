"""What has been read of values, while the IR they are in is not changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir.mlir import ir

if TYPE_CHECKING:
    from relax_mlir.tir.schedule.index import Index


@dataclass
class Facts:
    """The expressions of index values, and the ranges of variables, found so far."""

    expressions: dict[ir.Value, Index] = field(default_factory=dict)
    domains: dict[ir.Value, tuple[Index, Index] | None] = field(default_factory=dict)


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
