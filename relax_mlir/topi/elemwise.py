"""Elementwise operators of one operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr, canonical_dtype
from relax_mlir.topi.common import elementwise, named


def _unary(function: Callable[[Any], PrimExpr], name: str) -> Callable[[Tensor], Tensor]:
    def build(x: Tensor) -> Tensor:
        return elementwise(x, function)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"`{name}` of every element of x."
    return build


acos = _unary(I.acos, "acos")
acosh = _unary(I.acosh, "acosh")
asin = _unary(I.asin, "asin")
asinh = _unary(I.asinh, "asinh")
atan = _unary(I.atan, "atan")
atanh = _unary(I.atanh, "atanh")
ceil = _unary(I.ceil, "ceil")
cos = _unary(I.cos, "cos")
cosh = _unary(I.cosh, "cosh")
erf = _unary(I.erf, "erf")
exp = _unary(I.exp, "exp")
floor = _unary(I.floor, "floor")
isfinite = _unary(I.isfinite, "isfinite")
isinf = _unary(I.isinf, "isinf")
isnan = _unary(I.isnan, "isnan")
log = _unary(I.log, "log")
log2 = _unary(I.log2, "log2")
log10 = _unary(I.log10, "log10")
log1p = _unary(I.log1p, "log1p")
negative = _unary(O.negate, "negative")
round = _unary(I.nearbyint, "round")
rsqrt = _unary(I.rsqrt, "rsqrt")
sigmoid = _unary(I.sigmoid, "sigmoid")
sin = _unary(I.sin, "sin")
sinh = _unary(I.sinh, "sinh")
sqrt = _unary(I.sqrt, "sqrt")
tan = _unary(I.tan, "tan")
tanh = _unary(I.tanh, "tanh")
trunc = _unary(I.trunc, "trunc")
identity = _unary(as_expr, "identity")
abs = _unary(O.abs, "abs")
# TVM's faster, coarser versions; the exact ones are vectorised here and as fast.
fast_exp, fast_tanh, fast_erf = exp, tanh, erf


def square(x: Tensor) -> Tensor:
    """`x * x`."""
    return elementwise(x, lambda v: O.multiply(v, v))


def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1 of x's dtype; NaN stays NaN."""
    zero, one = O.const(0, x.dtype), O.const(1, x.dtype)

    def body(v: PrimExpr) -> PrimExpr:
        if dtypes.is_unsigned(x.dtype):
            return O.select(O.less(zero, v), one, zero)
        rest = zero if not dtypes.is_float(x.dtype) else O.select(I.isnan(v), v, zero)
        negative_or_rest = O.select(O.less(v, zero), O.const(-1, x.dtype), rest)
        return O.select(O.less(zero, v), one, negative_or_rest)

    return named(x.shape, lambda *i: body(x(*i)), "T_sign", "elemwise")


def logical_not(x: Tensor) -> Tensor:
    """`not x` of bools."""
    return named(x.shape, lambda *i: O.logical_not(x(*i)), "T_logical_not", "elemwise")


def bitwise_not(x: Tensor) -> Tensor:
    """`~x` of integers."""
    return named(x.shape, lambda *i: O.bitwise_not(x(*i)), "T_bitwise_not", "elemwise")


def cast(x: Any, dtype: object, span: Any = None) -> Any:
    """x converted to a dtype; of a scalar too."""
    if not isinstance(x, Tensor):
        return O.cast(dtype, x)
    name = canonical_dtype(dtype)
    return elementwise(x, lambda v: O.cast(name, v))


def reinterpret(x: Tensor, dtype: object) -> Tensor:
    """The bits of x as another dtype of the same width."""
    return named(x.shape, lambda *i: I.reinterpret(dtype, x(*i)), "tensor", "elemwise")


def clip(x: Tensor, a_min: Any, a_max: Any) -> Tensor:
    """x limited to [a_min, a_max]; NaN stays NaN."""
    low, high = O.cast(x.dtype, a_min), O.cast(x.dtype, a_max)
    return elementwise(x, lambda v: O.max(O.min(v, high), low))


def ceil_log2(x: Any) -> Any:
    """The smallest integer whose power of two is at least x."""
    if not isinstance(x, Tensor):
        return I.ceil(I.log2(O.cast("float32", x)))
    return cast(ceil(log2(cast(x, "float32"))), x.dtype)


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """`round(x * multiplier * 2**(shift - 31))` of int32."""
    return elementwise(x, lambda v: I.q_multiply_shift(v, multiplier, 31, shift))


def elemwise_sum(xs: list[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    first = xs[0]

    def body(*i: Any) -> PrimExpr:
        total = first(*i)
        for x in xs[1:]:
            total = O.add(total, x(*i))
        return total

    return named(first.shape, body, "T_elemwise_sum", "elemwise")
