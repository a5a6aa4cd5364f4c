"""Activations."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import IntImm, PrimExpr
from relax_mlir.topi.common import elementwise, normalize_axis


def relu(x: Tensor) -> Tensor:
    """`max(x, 0)`."""
    return elementwise(x, lambda v: O.max(v, O.const(0, x.dtype)))


def relu6(x: Tensor) -> Tensor:
    """x limited to [0, 6]."""
    low, high = O.const(0, x.dtype), O.const(6, x.dtype)
    return elementwise(x, lambda v: O.max(O.min(v, high), low))


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """x where positive, `alpha * x` elsewhere."""
    zero, slope = O.const(0, x.dtype), O.const(alpha, x.dtype)
    return elementwise(x, lambda v: O.select(O.less(zero, v), v, O.multiply(v, slope)))


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """x where positive, `slope * x` elsewhere, with a slope for each index of an axis, or one."""
    axis, zero = normalize_axis(axis, x.ndim), O.const(0, x.dtype)
    size = slope.shape[0]
    single = isinstance(size, IntImm) and size.value == 1

    def body(*i: Any) -> PrimExpr:
        value = x(*i)
        factor = slope(0 if single else i[axis])
        return O.select(O.less(zero, value), value, O.multiply(value, factor))

    return compute(x.shape, body)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta x)) / beta`; x itself where `beta x` is above the threshold."""
    scale, limit = O.const(beta, x.dtype), O.const(threshold, x.dtype)

    def body(v: PrimExpr) -> PrimExpr:
        scaled = O.multiply(scale, v)
        return O.select(O.less(limit, scaled), v, O.div(I.log1p(I.exp(scaled)), scale))

    return elementwise(x, body)


def gelu(x: Tensor) -> Tensor:
    """`x * (1 + erf(x / sqrt(2))) / 2`."""
    half, root = O.const(0.5, x.dtype), O.const(math.sqrt(0.5), x.dtype)

    def body(v: PrimExpr) -> PrimExpr:
        normal = O.add(O.multiply(I.erf(O.multiply(v, root)), half), half)
        return O.multiply(v, normal)

    return elementwise(x, body, "T_gelu")


def gelu_tanh(x: Tensor) -> Tensor:
    """gelu by tanh: `x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))`."""
    half, one = O.const(0.5, x.dtype), O.const(1, x.dtype)
    scale, cubic = O.const(math.sqrt(2 / math.pi), x.dtype), O.const(0.044715, x.dtype)

    def body(v: PrimExpr) -> PrimExpr:
        cube = O.multiply(O.multiply(O.multiply(cubic, v), v), v)
        inner = I.tanh(O.multiply(scale, O.add(v, cube)))
        return O.multiply(O.multiply(half, v), O.add(one, inner))

    return elementwise(x, body, "T_gelu_tanh")


def silu(x: Tensor) -> Tensor:
    """`x * sigmoid(x)`."""
    return elementwise(x, lambda v: O.multiply(v, I.sigmoid(v)), "T_silu")


def selu(x: Tensor) -> Tensor:
    """`scale * (max(0, x) + min(0, alpha (exp(x) - 1)))`, with SELU's own constants."""
    alpha = O.const(1.6732632423543772, x.dtype)
    scale, zero, one = (O.const(c, x.dtype) for c in (1.0507009873554805, 0, 1))

    def body(v: PrimExpr) -> PrimExpr:
        negative = O.multiply(alpha, O.subtract(I.exp(v), one))
        return O.multiply(scale, O.select(O.less(zero, v), v, negative))

    return elementwise(x, body, "T_selu")
