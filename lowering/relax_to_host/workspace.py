"""Planning the workspace: temporaries of one call share one block of memory.

Sizes that are known now get offsets now: one after the other, each at the lowest offset that no
temporary alive at the same time covers, in the order that needs least.  Sizes that depend on
symbols become tokens: a temporary takes over the token of an earlier one of the same size
expression that is no longer alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from relax_mlir.dialects import dims
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.lowering.relax.functions import callee_of, walk
from relax_mlir.lowering.relax_to_host.lift_temporaries import LENDING_CALLS, lent_temporaries
from relax_mlir.lowering.relax_to_host.liveness import Liveness
from relax_mlir.lowering.to_llvm.free_temporaries import static_bytes
from relax_mlir.mlir import ir

__all__ = [
    "Placement",
    "Temporary",
    "WorkspacePlan",
    "lent_key",
    "lent_memory",
    "plan_workspace",
    "temporaries",
]

ALIGNMENT = 64
# Graphs with more temporaries than this are not repaired: placing takes quadratic time.
_MANY = 200


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


def temporaries(
    function: ir.Operation, liveness: Liveness, known: Callable[[dims.Dim], bool]
) -> list[Temporary]:
    """The outputs of kernel calls that stay inside a function.

    `known` says whether a size is known on entry: others cannot be part of the workspace.
    """
    found: list[Temporary] = []
    for op in walk(function):
        if op.name != "relax.call_tir" or liveness.escapes(op.results[0]):
            continue
        result = op.results[0]
        first, last = liveness.position(op), liveness.last_use(result)
        for index, kind in enumerate(outputs_of(result.type)):
            info = types.tensor_info(kind)
            assert info is not None and info.dims is not None and info.dtype is not None
            size = types.size_in_bytes(info.dims, info.dtype)
            if known(size):
                found.append(Temporary((result, index), size, first, last))
    return found


def lent_memory(
    function: ir.Operation, liveness: Liveness, kernels: Mapping[str, ir.Operation]
) -> list[Temporary]:
    """The temporaries of the kernels that a function calls, each alive during the call alone."""
    found: list[Temporary] = []
    for op in walk(function):
        kernel = kernels.get(callee_of(op)) if op.name in LENDING_CALLS else None
        for index, kind in enumerate(lent_temporaries(kernel) if kernel is not None else ()):
            size, at = static_bytes(kind), liveness.position(op)
            assert size is not None
            found.append(Temporary(lent_key(op, index), size, at, at))
    return found


def lent_key(op: ir.Operation, index: int) -> object:
    """What temporary number `index` of the kernel that an operation calls is filed under."""
    return op.results[0], "lent", index


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


def _largest_first(temporary: Temporary) -> tuple[int, ...]:
    return -int(temporary.size), temporary.first


def _longest_first(temporary: Temporary) -> tuple[int, ...]:
    return temporary.first - temporary.last, -int(temporary.size), temporary.first


def _most_first(temporary: Temporary) -> tuple[int, ...]:
    """By bytes times how long they are taken."""
    return -int(temporary.size) * (temporary.last - temporary.first + 1), temporary.first


def _in_time(temporary: Temporary) -> tuple[int, ...]:
    return temporary.first, -int(temporary.size)


# No order is best for all graphs, and trying one takes next to nothing.
_ORDERS = (_largest_first, _most_first, _longest_first, _in_time)


# Rounds of moving what lies highest to the front of the order.
_REPAIRS = 24


def _place_static(plan: WorkspacePlan, temporaries: list[Temporary]) -> None:
    least = _least_size(temporaries)
    best: tuple[dict[object, int], int] | None = None
    for order in _ORDERS:
        chosen = sorted(temporaries, key=order)
        for _ in range(_REPAIRS):
            trial = _placed(chosen)
            if best is None or trial[1] < best[1]:
                best = trial
            if best[1] == least or len(chosen) > _MANY:
                break
            highest = max(chosen, key=lambda t: trial[0][t.key] + int(t.size))
            chosen.remove(highest)
            chosen.insert(0, highest)
    assert best is not None
    plan.static_size = best[1]
    for key, offset in best[0].items():
        plan.places[key] = Placement(None, offset)


def _least_size(temporaries: list[Temporary]) -> int:
    """What is alive at once at the most: no plan needs less."""
    starts = {temporary.first for temporary in temporaries}
    return max(
        (
            sum(_round(int(t.size)) for t in temporaries if t.first <= start <= t.last)
            for start in starts
        ),
        default=0,
    )


def _placed(temporaries: list[Temporary]) -> tuple[dict[object, int], int]:
    """Each temporary at the lowest offset that is free while it lives, and the size of all."""
    offsets: dict[object, int] = {}
    placed: list[tuple[Temporary, int]] = []
    whole = 0
    for temporary in temporaries:
        size = _round(int(temporary.size))
        offset = 0
        # Neighbours in order of address: step over each one that is in the way.
        for other, start in sorted(placed, key=lambda pair: pair[1]):
            if temporary.overlaps(other) and start < offset + size:
                offset = max(offset, start + _round(int(other.size)))
        placed.append((temporary, offset))
        offsets[temporary.key] = offset
        whole = max(whole, offset + size)
    return offsets, whole


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
