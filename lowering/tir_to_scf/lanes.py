"""What index expressions are in the lanes of a vectorised loop.

In a lane, an index is `base + stride * lane` where that can be shown, with a base that is the same
in all lanes: then it needs one scalar, and an access through it may be contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import (
    Apply,
    Index,
    Leaf,
    atom_index,
    floordiv,
    mod,
    proves_nonnegative,
)

__all__ = ["LaneForm", "align", "lane_form"]


@dataclass(frozen=True)
class LaneForm:
    """`base + stride * lane`; `base` is the same in all lanes."""

    base: Index
    stride: int


def lane_form(
    expr: Index, lane: ir.Value, lanes: int, varies: Callable[[ir.Value], bool]
) -> LaneForm | None:
    """The form of `expr`, None when it is not linear in `lane`.

    `lane` is the leaf that stands for the number of the lane; `varies` tells of the other leaves
    whether they differ between lanes.
    """
    expr = align(expr, lane, lanes)
    base = dict(expr.terms)
    stride = base.pop((Leaf(lane),), 0)
    rest = Index(base, expr.constant)
    if any(leaf == lane or varies(leaf) for leaf in rest.leaves()):
        return None
    return LaneForm(rest, stride)


def align(expr: Index, lane: ir.Value, lanes: int) -> Index:
    """Take the lane out of quotients and remainders that it cannot carry over.

    `(16 * x + lane) // 64` is `16 * x // 64` and `(16 * x + lane) % 64` is `16 * x % 64 + lane`
    when there are at most 16 lanes.
    """
    if not expr.uses(lane):
        return expr
    total = Index({}, expr.constant)
    for monomial, k in expr.terms.items():
        atom = monomial[0]
        if len(monomial) == 1 and isinstance(atom, Apply) and atom.function in ("floordiv", "mod"):
            total = total + _aligned(atom, lane, lanes) * k
        else:
            total = total + Index({monomial: k})
    return total


def _aligned(atom: Apply, lane: ir.Value, lanes: int) -> Index:
    divisor = atom.right.as_constant()
    left = align(atom.left, lane, lanes)
    if divisor is None or divisor <= 0:
        return atom_index(atom)
    large = {m: k for m, k in left.terms.items() if not Index({m: 1}).uses(lane)}
    step = gcd(divisor, *large.values())
    small = left - Index(large) - left.constant // step * step
    ranges = {lane: (0, lanes - 1)}
    if not proves_nonnegative(small, ranges) or not proves_nonnegative(-small + (step - 1), ranges):
        return atom_index(Apply(atom.function, left, atom.right))
    whole = left - small
    if atom.function == "floordiv":
        return floordiv(whole, atom.right)
    return mod(whole, atom.right) + small
