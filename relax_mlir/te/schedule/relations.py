"""How the loops of a stage come from its axes: what `split` and `fuse` record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.errors import ScheduleError
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import IterVar, PrimExpr, Var, as_expr, structural_key

__all__ = [
    "Fuse", "Reorder", "Singleton", "Split", "Step", "extent_of",
    "loops_at", "made_axis", "position", "require_kinds_apart", "values_of",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Split:
    """`parent` runs as `outer` around `inner`: `inner` has `factor` iterations, or `outer` has
    `nparts`; the other is what covers the parent."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int | None
    nparts: int | None


@dataclass(frozen=True, eq=False)
class Fuse:
    """`outer` and `inner`, which follow each other, run as `fused`."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


@dataclass(frozen=True, eq=False)
class Singleton:
    """A loop of one iteration, of a stage without axes."""

    iter: IterVar


@dataclass(frozen=True, eq=False)
class Reorder:
    """The loops in the order of the list, in the places that they had together."""

    order: tuple[IterVar, ...]


Step = Split | Fuse | Singleton | Reorder


def position(loops: Sequence[IterVar], wanted: IterVar, stage: str) -> int:
    """The place of a loop among those of a stage.  Raises ScheduleError if it is not there."""
    for number, loop in enumerate(loops):
        if loop is wanted:
            return number
    names = ", ".join(loop.var.name for loop in loops) or "none"
    raise ScheduleError(
        f"{_name(wanted)} is no loop of stage {stage}; its loops are {names}",
        hint="an axis that was split or fused is replaced by the loops this gave",
    )


def _name(value: object) -> str:
    return value.var.name if isinstance(value, IterVar) else repr(value)


def require_kinds_apart(steps: Sequence[Step], primitive: str, stage: str) -> None:
    """Refuse stages of which a loop is both spatial and a reduction.  Raises ScheduleError."""
    for step in steps:
        if isinstance(step, Fuse) and step.outer.iter_type != step.inner.iter_type:
            raise ScheduleError(
                f"{primitive}: {step.fused.var.name} of {stage} is a spatial and a reduction loop "
                "in one",
                hint="fuse loops of one kind only",
            )


def made_axis(name: str, *of: IterVar) -> IterVar:
    """A loop made of others: it reduces when one of them does."""
    return IterVar(None, Var(name, of[0].var.dtype), max(axis.iter_type for axis in of))


def extent_of(axis: IterVar, steps: Sequence[Step]) -> PrimExpr:
    """How many iterations a loop has."""
    made = next((step for step in steps if any(axis is new for new in _results(step))), None)
    if isinstance(made, Fuse):
        return O.multiply(extent_of(made.outer, steps), extent_of(made.inner, steps))
    if isinstance(made, Split):
        given = made.factor if made.nparts is None else made.nparts
        assert given is not None, "a split has a factor or a number of parts"
        if axis is (made.inner if made.nparts is None else made.outer):
            return as_expr(given)
        return O.floordiv(O.add(extent_of(made.parent, steps), given - 1), given)
    if isinstance(made, Singleton):
        return as_expr(1)
    if axis.dom is None:
        raise ScheduleError(f"{axis.var.name} has no domain")
    return axis.dom.extent


def _results(step: Step) -> Sequence[IterVar]:
    """The loops that a step makes."""
    if isinstance(step, Split):
        return step.outer, step.inner
    if isinstance(step, Fuse):
        return (step.fused,)
    return (step.iter,) if isinstance(step, Singleton) else ()


def values_of(
    steps: Sequence[Step], roots: Sequence[IterVar]
) -> tuple[dict[Var, PrimExpr], list[PrimExpr]]:
    """What the axes are of the loops made of them, and the conditions under which they are in
    their domains: those of splits that cover more."""
    known: dict[int, PrimExpr] = {}
    conditions: list[PrimExpr] = []

    def value(axis: IterVar) -> PrimExpr:
        """The iteration that an axis is at, from 0."""
        if id(axis) not in known:
            known[id(axis)] = found(axis)
        return known[id(axis)]

    def found(axis: IterVar) -> PrimExpr:
        for step in steps:
            if isinstance(step, Split) and step.parent is axis:
                return joined(step)
            if isinstance(step, Fuse) and (axis is step.outer or axis is step.inner):
                size = extent_of(step.inner, steps)
                digit = O.floordiv if axis is step.outer else O.floormod
                return digit(value(step.fused), size)
        return axis.var

    def joined(step: Split) -> PrimExpr:
        inner, whole = extent_of(step.inner, steps), extent_of(step.parent, steps)
        index = O.add(O.multiply(value(step.outer), inner), value(step.inner))
        covered = O.multiply(extent_of(step.outer, steps), inner)
        if structural_key(covered) != structural_key(whole):
            conditions.append(O.less(index, whole))
        return index

    values: dict[Var, PrimExpr] = {}
    for root in roots:
        at = value(root)
        taken = at is not root.var and root.dom is not None
        values[root.var] = O.add(at, root.dom.min) if taken and root.dom is not None else at
    return values, conditions


def loops_at(steps: Sequence[Step], roots: Sequence[IterVar]) -> Callable[[IterVar], PrimExpr]:
    """The iteration that a loop is at when the axes have their values: the other way round than
    `values_of`."""
    starts = {id(root): root.dom.min for root in roots if root.dom is not None}

    def at(loop: IterVar) -> PrimExpr:
        for step in steps:
            if isinstance(step, Fuse) and step.fused is loop:
                size = extent_of(step.inner, steps)
                return O.add(O.multiply(from_zero(step.outer), size), from_zero(step.inner))
            if isinstance(step, Split) and (step.outer is loop or step.inner is loop):
                digit = O.floordiv if step.outer is loop else O.floormod
                return digit(from_zero(step.parent), extent_of(step.inner, steps))
        return loop.var

    def from_zero(loop: IterVar) -> PrimExpr:
        start = starts.get(id(loop))
        return at(loop) if start is None else O.subtract(at(loop), start)

    return at
