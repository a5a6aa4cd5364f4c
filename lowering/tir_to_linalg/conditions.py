"""Conditions on iteration variables, and the pieces of an iteration space that know the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from relax_mlir.lowering.tir_to_linalg.linear import Linear, linear, variables_in
from relax_mlir.lowering.tir_to_linalg.nest import Nest
from relax_mlir.mlir import ir

__all__ = ["Bound", "Clamped", "Comparison", "Piece", "Unsupported", "comparison", "decide"]

# Predicates of arith.cmpi.
_SLT, _SLE, _SGT, _SGE = 2, 3, 4, 5


class Unsupported(Exception):
    """The block has no form that can be raised."""


@dataclass(frozen=True)
class Clamped:
    """A position that is only known at run time, moved into a range."""

    position: Bound
    low: Bound
    high: Bound


Bound = int | Linear | Clamped
"""A position, known now or at run time."""


@dataclass(frozen=True)
class Comparison:
    """`variable >= bound`, or with `below` its opposite."""

    variable: int
    bound: Linear
    below: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Comparisons of one key are answered by the same cut."""
        return self.variable, self.bound.constant, self.bound.rest


@dataclass(frozen=True)
class Piece:
    """A part of the iteration space: a range for each variable, and what is known there: whether
    `variable >= bound`, by the comparison's key."""

    ranges: tuple[tuple[Bound, Bound], ...]
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def answer(self, asked: Comparison) -> bool | None:
        """Whether a comparison holds everywhere in the piece; None if that is not known."""
        found = self.known.get(asked.key)
        low, high = self.ranges[asked.variable]
        if found is None and asked.bound.is_constant:
            limit = asked.bound.constant
            if isinstance(low, int) and low >= limit:
                found = True
            elif isinstance(high, int) and high <= limit:
                found = False
        return None if found is None else found != asked.below

    def cut(self, asked: Comparison) -> list[Piece]:
        """The pieces below and from the bound on."""
        low, high = self.ranges[asked.variable]
        middle: Bound = Clamped(asked.bound, low, high)
        if isinstance(low, int) and isinstance(high, int) and asked.bound.is_constant:
            middle = max(low, min(asked.bound.constant, high))
        pieces: list[Piece] = []
        for range_, answer in (((low, middle), False), ((middle, high), True)):
            if range_[0] == range_[1]:
                continue
            ranges = list(self.ranges)
            ranges[asked.variable] = range_
            pieces.append(
                replace(self, ranges=tuple(ranges), known={**self.known, asked.key: answer})
            )
        return pieces


def comparison(
    op: ir.Operation, iter_vars: Sequence[ir.Value], nest: ir.Operation
) -> Comparison | None:
    """What an `arith.cmpi` of indices asks of one iteration variable; None if it asks more.

    The other side may be a constant, or a value that does not change in the nest.
    """
    if op.name != "arith.cmpi" or not isinstance(op.operands[0].type, ir.IndexType):
        return None
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if predicate not in (_SLT, _SLE, _SGT, _SGE):
        return None
    left, right = (linear(operand, iter_vars) for operand in op.operands)
    difference = left.plus(right, -1)
    if any(variables_in(value, iter_vars, nest) for value, _ in difference.rest):
        return None
    if len(difference.coefficients) != 1:
        return None
    ((variable, coefficient),) = difference.coefficients.items()
    if abs(coefficient) != 1:
        return None
    others = Linear(constant=difference.constant, rest=difference.rest)
    rising = coefficient == 1
    bound = Linear().plus(others, -coefficient)
    # With a falling difference, `d >= 0` is `v <= bound`.
    from_bound = predicate in ((_SGE, _SLT) if rising else (_SLE, _SGT))
    below = predicate in ((_SLT, _SLE) if rising else (_SGT, _SGE))
    return Comparison(variable, bound if from_bound else bound.plus(Linear(constant=1)), below)


def decide(condition: ir.Value, nest: Nest, piece: Piece) -> bool | Comparison:
    """The value of a condition in a piece, or the comparison to cut the piece by."""
    if isinstance(condition.owner, ir.Block):
        raise Unsupported
    op = condition.owner.operation
    if op.name == "arith.constant":
        return bool(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in ("arith.andi", "arith.ori"):
        absorbing = op.name == "arith.ori"
        parts = [decide(operand, nest, piece) for operand in op.operands]
        if any(part is absorbing for part in parts):
            return absorbing
        return next((part for part in parts if not isinstance(part, bool)), not absorbing)
    asked = comparison(op, nest.block.iter_vars, nest.outermost)
    if asked is None:
        raise Unsupported
    answer = piece.answer(asked)
    return asked if answer is None else answer
