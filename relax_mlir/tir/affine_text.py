"""Affine forms as a reader expects them.

MLIR's simplification writes `x mod 8` as `x - (x floordiv 8) * 8`; here the remainders come back.
"""

from __future__ import annotations

from relax_mlir.mlir import ir


def readable(form: ir.AffineExpr) -> ir.AffineExpr:
    """The sum with every `x * c - (x floordiv k) * (c * k)` written `(x mod k) * c`.

    Terms stay in order: the operands of the map are numbered as they appear.
    """
    terms = _terms(form)
    changed = False
    for quotient, factor in list(terms):
        if not isinstance(quotient, ir.AffineFloorDivExpr) or factor >= 0:
            continue
        divisor = quotient.rhs
        if not isinstance(divisor, ir.AffineConstantExpr) or factor % divisor.value:
            continue
        scale = -factor // divisor.value
        wanted = [(atom, k * scale) for atom, k in _terms(quotient.lhs)]
        rest = _without(terms, [*wanted, (quotient, factor)])
        if rest is None:
            continue
        at = min(i for i, (atom, _) in enumerate(terms) if atom == wanted[0][0])
        remainder = (ir.AffineExpr.get_mod(quotient.lhs, divisor).maybe_downcast(), scale)
        rest.insert(min(at, len(rest)), remainder)
        terms = rest
        changed = True
    return _sum(terms) if changed else form


def settle(form: ir.AffineExpr, dims: int) -> ir.AffineExpr:
    """Simplify a form so that its text gives it back.

    What is printed with remainders and parsed is simplified from another start, and may end
    elsewhere; so simplification starts from there at once.
    """
    form = ir.AffineExpr.simplify_affine_expr(form, dims, 0)
    for _ in range(4):
        if not _divides(form):
            return form
        again = ir.AffineExpr.simplify_affine_expr(_reread(form), dims, 0)
        if again == form:
            return form
        form = again
    return form


def _divides(form: ir.AffineExpr) -> bool:
    form = form.maybe_downcast()
    if isinstance(form, (ir.AffineFloorDivExpr, ir.AffineModExpr, ir.AffineCeilDivExpr)):
        return True
    return isinstance(form, ir.AffineBinaryExpr) and (_divides(form.lhs) or _divides(form.rhs))


_OPERATIONS = (
    (ir.AffineAddExpr, lambda a, b: a + b),
    (ir.AffineMulExpr, lambda a, b: a * b),
    (ir.AffineModExpr, ir.AffineExpr.get_mod),
    (ir.AffineFloorDivExpr, ir.AffineExpr.get_floor_div),
    (ir.AffineCeilDivExpr, ir.AffineExpr.get_ceil_div),
)


def _reread(form: ir.AffineExpr) -> ir.AffineExpr:
    """The form that the text of a form is parsed to."""
    form = form.maybe_downcast()
    if isinstance(form, ir.AffineAddExpr):
        form = readable(form).maybe_downcast()
    for kind, operation in _OPERATIONS:
        if isinstance(form, kind):
            return operation(_reread(form.lhs), _reread(form.rhs))
    return form


def constant_first(form: ir.AffineExpr) -> tuple[int, ir.AffineExpr] | None:
    """`8` and `i` of the form `-i + 8`, which reads better as `8 - i`; None for other forms."""
    terms = _terms(form)
    if len(terms) != 2 or terms[0][1] >= 0 or not isinstance(terms[1][0], ir.AffineConstantExpr):
        return None
    return terms[1][1], (terms[0][0] * -terms[0][1]).maybe_downcast()


def _without(
    terms: list[tuple[ir.AffineExpr, int]], taken: list[tuple[ir.AffineExpr, int]]
) -> list[tuple[ir.AffineExpr, int]] | None:
    """The terms less some of them, or None if they do not contain these."""
    rest = list(terms)
    for atom, factor in taken:
        at = next((i for i, (other, _) in enumerate(rest) if other == atom), None)
        if at is None or rest[at][1] * factor < 0 or abs(rest[at][1]) < abs(factor):
            return None
        left = rest[at][1] - factor
        rest[at : at + 1] = [(atom, left)] if left else []
    return rest


def _terms(form: ir.AffineExpr) -> list[tuple[ir.AffineExpr, int]]:
    """The summands as (atom, factor); a constant is (1, value)."""
    if isinstance(form, ir.AffineAddExpr):
        return [*_terms(form.lhs), *_terms(form.rhs)]
    if isinstance(form, ir.AffineMulExpr) and isinstance(form.rhs, ir.AffineConstantExpr):
        return [(form.lhs, form.rhs.value)]
    if isinstance(form, ir.AffineConstantExpr):
        return [(ir.AffineConstantExpr.get(1), form.value)]
    return [(form, 1)]


def _sum(terms: list[tuple[ir.AffineExpr, int]]) -> ir.AffineExpr:
    result: ir.AffineExpr | None = None
    for atom, factor in terms:
        term = atom * factor
        result = term if result is None else result + term
    assert result is not None
    # Operators fold, and their static type does not tell.
    return result.maybe_downcast()
