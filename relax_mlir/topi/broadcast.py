"""Elementwise operators of two operands, which broadcast as numpy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import (
    Shape,
    as_tensor_or_scalar,
    broadcast_indices,
    broadcast_shapes,
    named,
)

Combine = Callable[[Any, Any], PrimExpr]


def broadcast_binary(a: Any, b: Any, combine: Combine, name: str) -> Any:
    """`combine` of the broadcast operands; of two scalars the scalar itself."""
    a, b = as_tensor_or_scalar(a), as_tensor_or_scalar(b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        shape = broadcast_shapes(a.shape, b.shape)
        return named(
            shape,
            lambda *i: combine(
                a(*broadcast_indices(i, a.shape, shape)), b(*broadcast_indices(i, b.shape, shape))
            ),
            name,
            "broadcast",
        )
    if isinstance(a, Tensor):
        return named(a.shape, lambda *i: combine(a(*i), _scalar_like(b, a)), name, "elemwise")
    if isinstance(b, Tensor):
        return named(b.shape, lambda *i: combine(_scalar_like(a, b), b(*i)), name, "elemwise")
    return combine(a, b)


def _scalar_like(scalar: Any, tensor: Tensor) -> PrimExpr:
    """A constant takes the tensor's dtype where that loses nothing of its kind."""
    is_constant = hasattr(scalar, "value") and not hasattr(scalar, "buffer")
    float_scalar, float_tensor = dtypes.is_float(scalar.dtype), dtypes.is_float(tensor.dtype)
    if is_constant and (float_tensor or not float_scalar) and tensor.dtype != "bool":
        return O.cast(tensor.dtype, scalar)
    return scalar


def _binary(combine: Combine, name: str) -> Callable[[Any, Any], Any]:
    def build(lhs: Any, rhs: Any) -> Any:
        return broadcast_binary(lhs, rhs, combine, f"T_{name}")

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"`{name}` of the broadcast operands, tensors or scalars."
    return build


def _is_float(a: Any, b: Any) -> bool:
    return dtypes.is_float(a.dtype) or dtypes.is_float(b.dtype)


def _divide(a: Any, b: Any) -> PrimExpr:
    return O.div(a, b)


def _floor_divide(a: Any, b: Any) -> PrimExpr:
    return I.floor(O.div(a, b)) if _is_float(a, b) else O.floordiv(a, b)


def _mod(a: Any, b: Any) -> PrimExpr:
    return I.fmod(a, b) if _is_float(a, b) else O.truncmod(a, b)


def _floor_mod(a: Any, b: Any) -> PrimExpr:
    """The remainder with the divisor's sign, exact: `fmod` moved by one divisor if need be."""
    if not _is_float(a, b):
        return O.floormod(a, b)
    a, b = O.promote(a, b)
    zero = O.const(0, a.dtype)
    remainder = I.fmod(a, b)
    opposite = O.not_equal(O.less(remainder, zero), O.less(b, zero))
    moved = O.logical_and(O.not_equal(remainder, zero), opposite)
    return O.select(moved, O.add(remainder, b), remainder)


def _power(a: Any, b: Any) -> PrimExpr:
    if _is_float(a, b):
        return I.pow(a, b)
    a, b = O.promote(a, b)
    return I.call_intrin(a.dtype, "pow", a, b)


def _atan2(a: Any, b: Any) -> PrimExpr:
    return I.atan2(a, b)


def _log_add_exp(a: Any, b: Any) -> PrimExpr:
    """`log(exp(a) + exp(b))` without overflow; equal infinities stay."""
    a, b = O.promote(a, b)
    large, small = O.max(a, b), O.min(a, b)
    same = O.equal(large, small)
    sum_ = O.add(large, I.log1p(I.exp(O.subtract(small, large))))
    return O.select(same, O.add(large, O.const(0.6931471805599453, a.dtype)), sum_)


def _logical(join: Combine) -> Combine:
    return lambda a, b: join(O.cast("bool", a), O.cast("bool", b))


add = _binary(O.add, "add")
subtract = _binary(O.subtract, "subtract")
multiply = _binary(O.multiply, "multiply")
divide = _binary(_divide, "divide")
div = divide
floor_divide = _binary(_floor_divide, "floor_divide")
mod = _binary(_mod, "mod")
floor_mod = _binary(_floor_mod, "floor_mod")
power = _binary(_power, "power")
maximum = _binary(O.max, "maximum")
minimum = _binary(O.min, "minimum")
atan2 = _binary(_atan2, "atan2")
log_add_exp = _binary(_log_add_exp, "log_add_exp")
equal = _binary(O.equal, "equal")
not_equal = _binary(O.not_equal, "not_equal")
less = _binary(O.less, "less")
less_equal = _binary(O.less_equal, "less_equal")
greater = _binary(O.greater, "greater")
greater_equal = _binary(O.greater_equal, "greater_equal")
logical_and = _binary(_logical(O.logical_and), "logical_and")
logical_or = _binary(_logical(O.logical_or), "logical_or")
logical_xor = _binary(_logical(O.bitwise_xor), "logical_xor")
bitwise_and = _binary(O.bitwise_and, "bitwise_and")
bitwise_or = _binary(O.bitwise_or, "bitwise_or")
bitwise_xor = _binary(O.bitwise_xor, "bitwise_xor")
left_shift = _binary(O.shift_left, "left_shift")
right_shift = _binary(O.shift_right, "right_shift")


def broadcast_to(data: Tensor, shape: Shape) -> Tensor:
    """data stretched to a shape.  Raises Error if it does not broadcast to it."""
    sizes = broadcast_shapes(data.shape, shape)
    return named(
        sizes,
        lambda *i: data(*broadcast_indices(i, data.shape, sizes)),
        "T_broadcast_to",
        "broadcast",
    )
