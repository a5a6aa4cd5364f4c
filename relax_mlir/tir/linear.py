"""Integer expressions as polynomials: what is equal, what differs by how much, and simpler forms.

A polynomial maps products of atoms (variables, divisions, loads, minima) to coefficients; the order
of first appearance is kept, so that a simplified expression still reads like the user's.
"""

from __future__ import annotations

from typing import Any

from relax_mlir.tir import expr as E
from relax_mlir.tir import operators as O

__all__ = ["Poly", "difference", "polynomial", "simplify"]

_Key = tuple[Any, ...]


class Poly:
    """A polynomial; `terms` maps a key of the factors to (factors, coefficient)."""

    def __init__(self, terms: dict[_Key, tuple[tuple[E.PrimExpr, ...], int]], dtype: str):
        self.terms = {key: term for key, term in terms.items() if term[1]}
        self.dtype = dtype

    @classmethod
    def constant(cls, value: int, dtype: str) -> Poly:
        return cls({(): ((), value)}, dtype)

    @classmethod
    def atom(cls, expr: E.PrimExpr) -> Poly:
        return cls({(_key(expr),): ((expr,), 1)}, expr.dtype)

    def as_int(self) -> int | None:
        """The value of a constant polynomial, None of others."""
        if not self.terms:
            return 0
        return self.terms[()][1] if set(self.terms) == {()} else None

    def plus(self, other: Poly, sign: int = 1) -> Poly:
        terms = dict(self.terms)
        for key, (factors, k) in other.terms.items():
            terms[key] = (factors, terms.get(key, (factors, 0))[1] + sign * k)
        return Poly(terms, self.dtype)

    def times(self, other: Poly) -> Poly:
        terms: dict[_Key, tuple[tuple[E.PrimExpr, ...], int]] = {}
        for fa, ka in self.terms.values():
            for fb, kb in other.terms.values():
                factors = (*fa, *fb)
                key = tuple(sorted(_key(f) for f in factors))
                old = terms.get(key, (factors, 0))
                terms[key] = (old[0], old[1] + ka * kb)
        return Poly(terms, self.dtype)

    def split_multiples(self, divisor: int) -> tuple[Poly, Poly]:
        """`(quotient, rest)` with `self == quotient * divisor + rest`, by terms."""
        exact = {key: (f, k // divisor) for key, (f, k) in self.terms.items() if k % divisor == 0}
        rest = {key: (f, k) for key, (f, k) in self.terms.items() if k % divisor != 0}
        constant = rest.pop((), None)
        if constant is not None and not rest:
            exact[()] = ((), constant[1] // divisor)
            rest[()] = ((), constant[1] % divisor)
        elif constant is not None:
            rest[()] = constant
        return Poly(exact, self.dtype), Poly(rest, self.dtype)

    def to_expr(self) -> E.PrimExpr:
        """The polynomial as an expression: terms as they came, the constant last."""
        result: E.PrimExpr = O.const(0, self.dtype)
        ordered = sorted(self.terms.items(), key=lambda item: item[0] == ())
        if ordered and ordered[0][1][1] < 0:  # start with a positive term, where there is one
            ordered.sort(key=lambda item: (item[0] == (), item[1][1] < 0))
        for factors, k in (term for _, term in ordered):
            product: E.PrimExpr = O.const(1, self.dtype)
            for factor in factors:
                product = O.multiply(product, O.cast(self.dtype, factor))
            if k < 0 and not _is_zero(result):
                result = O.subtract(result, O.multiply(product, O.const(-k, self.dtype)))
            else:
                result = O.add(result, O.multiply(product, O.const(k, self.dtype)))
        return result


def _is_zero(expr: E.PrimExpr) -> bool:
    return isinstance(expr, E.IntImm) and expr.value == 0


def _key(expr: E.PrimExpr) -> str:
    return repr(E.structural_key(expr))


def polynomial(expr: E.PrimExpr) -> Poly:
    """The polynomial of an integer expression; casts between integers are transparent."""
    dtype = expr.dtype
    if isinstance(expr, E.IntImm):
        return Poly.constant(expr.value, dtype)
    if isinstance(expr, E.Cast) and expr.value.dtype.startswith(("int", "uint")):
        inner = polynomial(expr.value)
        return Poly(inner.terms, dtype)
    if isinstance(expr, E.Add):
        return polynomial(expr.a).plus(polynomial(expr.b))
    if isinstance(expr, E.Sub):
        return polynomial(expr.a).plus(polynomial(expr.b), -1)
    if isinstance(expr, E.Mul):
        return polynomial(expr.a).times(polynomial(expr.b))
    if isinstance(expr, (E.FloorDiv, E.FloorMod)):
        return _division(expr)
    if isinstance(expr, (E.Min, E.Max)):
        return _extremum(expr)
    return Poly.atom(expr)


def _division(expr: E.FloorDiv | E.FloorMod) -> Poly:
    left, right = polynomial(expr.a), polynomial(expr.b)
    divisor = right.as_int()
    make = O.floordiv if isinstance(expr, E.FloorDiv) else O.floormod
    if divisor is None or divisor <= 0:
        return Poly.atom(make(left.to_expr(), right.to_expr()))
    quotient, rest = left.split_multiples(divisor)
    known = rest.as_int()
    if known is not None:
        remainder = Poly.constant(known // divisor if make is O.floordiv else known, expr.dtype)
    else:
        made = make(rest.to_expr(), O.const(divisor, expr.dtype))
        remainder = Poly.atom(made)
    return quotient.plus(remainder) if isinstance(expr, E.FloorDiv) else remainder


def _extremum(expr: E.Min | E.Max) -> Poly:
    left, right = polynomial(expr.a), polynomial(expr.b)
    known = left.plus(right, -1).as_int()
    if known is not None:
        return left if (known <= 0) == isinstance(expr, E.Min) else right
    make = O.min if isinstance(expr, E.Min) else O.max
    return Poly.atom(make(left.to_expr(), right.to_expr()))


def simplify(expr: E.PrimExpr) -> E.PrimExpr:
    """A simpler form of an integer expression; others come back as they are."""
    if not expr.dtype.startswith(("int", "uint")) or E.lanes_of(expr.dtype) > 1:
        return expr
    return polynomial(expr).to_expr()


def difference(a: E.PrimExpr, b: E.PrimExpr) -> int | None:
    """`a - b` if it is a known number."""
    return polynomial(a).plus(polynomial(b), -1).as_int()
