"""Unary, binary and ternary operators, casts and quantisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.dtypes import torch_dtype

__all__ = ["ELEMENTWISE"]


def _divide(a: Tensor, b: Tensor) -> Tensor:
    whole = not (a.is_floating_point() or b.is_floating_point())
    return torch.div(a, b, rounding_mode="trunc") if whole else torch.div(a, b)


def _scale_along(data: Tensor, values: Tensor, axis: int) -> Tensor:
    """Scales or zero points, one an index of `axis`, in a shape that broadcasts."""
    if values.ndim == 0 or values.numel() == 1:
        return values.reshape(())
    shape = [1] * data.ndim
    shape[axis] = values.numel()
    return values.reshape(shape)


def _quantize(data: Tensor, scale: Tensor, zero: Tensor, *, axis: int, out_dtype: str) -> Tensor:
    dtype = torch_dtype(out_dtype)
    step, offset = (_scale_along(data, values, axis) for values in (scale, zero))
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    moved = torch.round(data / step) + offset
    return moved.clamp(limits.min, limits.max).to(dtype)


def _dequantize(data: Tensor, scale: Tensor, zero: Tensor, *, axis: int, out_dtype: str) -> Tensor:
    step, offset = (_scale_along(data, values, axis) for values in (scale, zero))
    # Differences of 8-bit numbers need more than 8 bits.
    wide = torch.float32 if data.is_floating_point() else torch.int64
    return ((data.to(wide) - offset.to(wide)) * step).to(torch_dtype(out_dtype))


def _astype(x: Tensor, *, dtype: str) -> Tensor:
    return x.to(torch_dtype(dtype))


def _sign(x: Tensor) -> Tensor:
    """torch has no sign of NaN, Relax keeps NaN."""
    return torch.where(torch.isnan(x), x, torch.sign(x)) if x.is_floating_point() else x.sign()


def _clip(x: Tensor, low: Any, high: Any) -> Tensor:
    return torch.clamp(x, low, high)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": _divide,
    "floor_divide": torch.floor_divide,
    "mod": torch.fmod,
    "floor_mod": torch.remainder,
    "power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "atan2": torch.atan2,
    "log_add_exp": torch.logaddexp,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "left_shift": torch.bitwise_left_shift,
    "right_shift": torch.bitwise_right_shift,
    "acos": torch.acos,
    "acosh": torch.acosh,
    "asin": torch.asin,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "atanh": torch.atanh,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "exp": torch.exp,
    "log": torch.log,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "sqrt": torch.sqrt,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "abs": torch.abs,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "negative": torch.neg,
    "round": torch.round,
    "sign": _sign,
    "square": torch.square,
    "trunc": torch.trunc,
    "bitwise_not": torch.bitwise_not,
    "logical_not": torch.logical_not,
    "isfinite": torch.isfinite,
    "isinf": torch.isinf,
    "isnan": torch.isnan,
    "clip": lambda x, *, min, max: _clip(x, min, max),
    "where": torch.where,
    "ewise_fma": lambda a, b, c: a * b + c,
    "astype": _astype,
    "wrap_param": _astype,
    "quantize": _quantize,
    "dequantize": _dequantize,
    **dict.fromkeys(
        ("grad.no_grad", "grad.start_checkpoint", "grad.end_checkpoint",
         "builtin.stop_lift_params", "memory.ensure_zero_offset"),
        lambda x: x,
    ),
    **dict.fromkeys(("to_vdevice", "hint_on_device"), lambda x, **_: x),
}  # fmt: skip
