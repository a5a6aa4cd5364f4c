"""Indices with quotients and remainders of a loop variable, by splitting the loop in two.

A grouped convolution reads its data at `c floordiv 8` of the output channel `c`, a weight that was
laid out in panels is read at `c floordiv 32` and `c mod 32`.  With `c = 32 * outer + inner`, both
are plain dimensions, and the access is strided again.
"""

from __future__ import annotations

from relax_mlir.mlir import ir

__all__ = ["Quotient", "divisors", "take_quotients"]

Quotient = tuple[int, int, int]
"""A term `coefficient * (dimension floordiv divisor)`: (dimension, divisor, coefficient)."""


def take_quotients(expr: ir.AffineExpr) -> tuple[ir.AffineExpr, list[Quotient]]:
    """An index without its terms in quotients and remainders of dimensions, and those terms;
    `d mod w` is `d - w * (d floordiv w)`."""
    # The bindings call every sum a sum, also where it has become a single term.
    rest: ir.AffineExpr = ir.AffineConstantExpr.get(0)
    found: list[Quotient] = []
    for term in _summands(expr):
        factor, core = _factored(term)
        divided = _divided(core)
        if divided is None:
            rest = (rest + term).maybe_downcast()
            continue
        dim, divisor, is_remainder = divided
        if is_remainder:
            scaled = (ir.AffineDimExpr.get(dim) * factor).maybe_downcast()
            rest = (rest + scaled).maybe_downcast()
            found.append((dim, divisor, -factor * divisor))
        else:
            found.append((dim, divisor, factor))
    return rest, found


def _summands(expr: ir.AffineExpr) -> list[ir.AffineExpr]:
    if isinstance(expr, ir.AffineAddExpr):
        return [*_summands(expr.lhs), *_summands(expr.rhs)]
    return [expr]


def _factored(expr: ir.AffineExpr) -> tuple[int, ir.AffineExpr]:
    if isinstance(expr, ir.AffineMulExpr):
        for factor, other in ((expr.rhs, expr.lhs), (expr.lhs, expr.rhs)):
            if isinstance(factor, ir.AffineConstantExpr):
                return factor.value, other
    return 1, expr


def _divided(expr: ir.AffineExpr) -> tuple[int, int, bool] | None:
    """(dimension, divisor, whether it is the remainder) of a division of a plain dimension."""
    if not isinstance(expr, (ir.AffineFloorDivExpr, ir.AffineModExpr)):
        return None
    if not isinstance(expr.lhs, ir.AffineDimExpr):
        return None
    if not isinstance(expr.rhs, ir.AffineConstantExpr) or expr.rhs.value < 1:
        return None
    return expr.lhs.position, expr.rhs.value, isinstance(expr, ir.AffineModExpr)


def divisors(quotients: list[Quotient], sizes: list[int | None]) -> dict[int, int] | None:
    """The divisor of every dimension that is divided; None if a dimension is divided in two ways,
    or is no whole number of times its divisor."""
    found: dict[int, int] = {}
    for dim, divisor, _ in quotients:
        size = sizes[dim]
        if found.setdefault(dim, divisor) != divisor or size is None or size % divisor:
            return None
    return found
