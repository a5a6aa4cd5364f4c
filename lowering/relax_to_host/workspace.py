"""Planning the workspace: temporaries of one call share one block of memory.

Sizes that are known now get offsets now: largest first, each at the lowest offset that no
temporary alive at the same time covers.  Sizes that depend on symbols become tokens: a temporary
takes over the token of an earlier one of the same size expression that is no longer alive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir.dialects import dims

__all__ = ["Placement", "Temporary", "WorkspacePlan", "plan_workspace"]

ALIGNMENT = 64


@dataclass(frozen=True)
class Temporary:
    """One buffer: an identity, its size in bytes, and the operations between which it is alive."""

    key: object
    size: dims.Dim
    first: int
    last: int

    def overlaps(self, other: Temporary) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Placement:
    """Where a temporary lies: `offset` bytes into token `token`; None is the static part."""

    token: int | None
    offset: int


@dataclass
class WorkspacePlan:
    """The static part in bytes, the size expression of each token, and a place for every key."""

    static_size: int = 0
    tokens: list[dims.Dim] = field(default_factory=list)
    places: dict[object, Placement] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.static_size and not self.tokens


def plan_workspace(temporaries: Iterable[Temporary]) -> WorkspacePlan:
    """Place every temporary so that two that are alive together never overlap."""
    plan = WorkspacePlan()
    known = [t for t in temporaries if isinstance(t.size, int)]
    symbolic = [t for t in temporaries if not isinstance(t.size, int)]
    _place_static(plan, known)
    _place_symbolic(plan, symbolic)
    return plan


def _round(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _place_static(plan: WorkspacePlan, temporaries: list[Temporary]) -> None:
    placed: list[tuple[Temporary, int]] = []
    for temporary in sorted(temporaries, key=lambda t: (-int(t.size), t.first)):
        size = _round(int(temporary.size))
        offset = 0
        # Neighbours in order of address: step over each one that is in the way.
        for other, start in sorted(placed, key=lambda pair: pair[1]):
            if temporary.overlaps(other) and start < offset + size:
                offset = max(offset, start + _round(int(other.size)))
        placed.append((temporary, offset))
        plan.places[temporary.key] = Placement(None, offset)
        plan.static_size = max(plan.static_size, offset + size)


def _place_symbolic(plan: WorkspacePlan, temporaries: list[Temporary]) -> None:
    holders: list[Temporary] = []
    for temporary in sorted(temporaries, key=lambda t: t.first):
        for token, size in enumerate(plan.tokens):
            if dims.equal(size, temporary.size) and holders[token].last < temporary.first:
                holders[token] = temporary
                plan.places[temporary.key] = Placement(token, 0)
                break
        else:
            plan.tokens.append(temporary.size)
            holders.append(temporary)
            plan.places[temporary.key] = Placement(len(holders) - 1, 0)
