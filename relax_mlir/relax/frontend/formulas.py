"""Functions without a Relax operator of their own, from those there are.

Each takes an importer, of which it uses `emit`, `op` and `scalar_like`, and a floating expression.
"""

from __future__ import annotations

from typing import Any


def log1p(imp: Any, x: Any) -> Any:
    """log(u) * x / (u - 1) with u = 1 + x where x is small: the rounding of u cancels
    (Kahan's formula, in Goldberg, "What every computer scientist should know", 1991)."""
    one = imp.scalar_like(1.0, x)
    u = imp.emit(imp.op.add(x, one))
    logarithm = imp.emit(imp.op.log(u))
    ratio = imp.emit(imp.op.divide(x, imp.emit(imp.op.subtract(u, one))))
    exact = imp.emit(imp.op.multiply(logarithm, ratio))
    tiny = imp.emit(imp.op.equal(u, one))
    small = imp.emit(imp.op.less(imp.emit(imp.op.abs(x)), imp.scalar_like(0.5, x)))
    return imp.op.where(tiny, x, imp.emit(imp.op.where(small, exact, logarithm)))


def expm1(imp: Any, x: Any) -> Any:
    """2 t / (1 - t) with t = tanh(x / 2) where x is small: no cancellation there."""
    one = imp.scalar_like(1.0, x)
    half = imp.emit(imp.op.multiply(x, imp.scalar_like(0.5, x)))
    t = imp.emit(imp.op.tanh(half))
    doubled = imp.emit(imp.op.multiply(t, imp.scalar_like(2.0, x)))
    exact = imp.emit(imp.op.divide(doubled, imp.emit(imp.op.subtract(one, t))))
    plain = imp.emit(imp.op.subtract(imp.emit(imp.op.exp(x)), one))
    small = imp.emit(imp.op.less(imp.emit(imp.op.abs(x)), one))
    return imp.op.where(small, exact, plain)


def erfc(imp: Any, x: Any) -> Any:
    return imp.op.subtract(imp.scalar_like(1.0, x), imp.emit(imp.op.erf(x)))
