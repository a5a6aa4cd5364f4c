"""Functions without a Relax operator of their own, from those there are.

Each takes an importer, of which it uses `emit`, `op` and `scalar_like`, and a floating expression.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from relax_mlir.relax.frontend.values import Operators


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


# -- the gamma function -------------------------------------------------------------------------

_LANCZOS = (
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-06,
    1.5056327351493116e-07,
)
_SHIFT = 7.5
"""Lanczos' approximation with g = 7 and these coefficients (P. Godfrey, "A note on the computation
of the convergent Lanczos complex gamma approximation", 2001)."""


def lgamma(imp: Any, x: Any) -> Any:
    """The logarithm of the gamma function's absolute value, by reflection left of one half."""
    ops = Operators(imp, imp.op)
    number = partial(imp.scalar_like, like=x)
    mirrored = ops.less(x, number(0.5))
    z = ops.where(mirrored, ops.negative(x), ops.subtract(x, number(1.0)))
    total = number(1.0)
    for place, coefficient in enumerate(_LANCZOS, 1):
        term = ops.divide(number(coefficient), ops.add(z, number(float(place))))
        total = ops.add(total, term)
    t, log_t = _shifted(imp, ops, z)
    # (z + 1/2) log t - t without the difference of two large numbers.
    factor = ops.subtract(ops.add(z, number(0.5)), ops.divide(t, log_t))
    value = ops.add(ops.multiply(factor, log_t), ops.log(total))
    value = ops.add(value, number(0.5 * math.log(2 * math.pi)))
    fraction = ops.subtract(ops.abs(x), ops.floor(ops.abs(x)))
    near = ops.minimum(fraction, ops.subtract(number(1.0), fraction))
    sine = ops.log(ops.abs(ops.sin(ops.multiply(near, number(math.pi)))))
    reflected = ops.subtract(ops.subtract(number(math.log(math.pi)), sine), value)
    result = ops.where(mirrored, reflected, value)
    return imp.op.where(ops.isinf(x), number(math.inf), result)


def digamma(imp: Any, x: Any) -> Any:
    """The derivative of `lgamma`; NaN at its poles, minus infinity at zero."""
    ops = Operators(imp, imp.op)
    number = partial(imp.scalar_like, like=x)
    mirrored = ops.less(x, number(0.5))
    z = ops.where(mirrored, ops.negative(x), ops.subtract(x, number(1.0)))
    total, slope = number(1.0), number(0.0)
    for place, coefficient in enumerate(_LANCZOS, 1):
        distance = ops.add(z, number(float(place)))
        term = ops.divide(number(coefficient), distance)
        total = ops.add(total, term)
        slope = ops.subtract(slope, ops.divide(term, distance))
    t, log_t = _shifted(imp, ops, z)
    value = ops.add(log_t, ops.divide(slope, total))
    value = ops.subtract(value, ops.divide(number(_SHIFT - 0.5), t))
    offset = ops.subtract(x, ops.floor(ops.add(x, number(0.5))))
    tangent = ops.tan(ops.multiply(offset, number(math.pi)))
    reflected = ops.subtract(value, ops.divide(number(math.pi), tangent))
    pole = ops.logical_and(mirrored, ops.equal(offset, number(0.0)))
    at_pole = ops.where(ops.equal(x, number(0.0)), number(-math.inf), number(math.nan))
    return imp.op.where(pole, at_pole, ops.where(mirrored, reflected, value))


def _shifted(imp: Any, ops: Any, z: Any) -> tuple[Any, Any]:
    """z + 7.5 and its logarithm, which is exact to the last digit for small z."""
    shift = imp.scalar_like(_SHIFT, z)
    small = imp.emit(log1p(imp, ops.divide(z, shift)))
    return ops.add(z, shift), ops.add(imp.scalar_like(math.log(_SHIFT), z), small)
