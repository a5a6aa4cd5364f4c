"""Legalisation of astype, wrap_param, quantize and dequantize."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects import dtypes
from relax_mlir.lowering.relax_to_tir.rows import is_one, legalize, positive_axis
from relax_mlir.tir import operators as O


@legalize("astype", "cast")
@legalize("wrap_param", "cast")
def _astype(x: te.Tensor, *, dtype: str) -> te.Tensor:
    return topi.cast(x, dtype)


def _parameter(value: Any, indices: tuple[Any, ...], axis: int) -> Any:
    """The element of a scale or zero point that belongs to an element of the data."""
    if not isinstance(value, te.Tensor):
        return value
    if value.ndim == 0 or all(is_one(size) for size in value.shape):
        return value(*[0] * value.ndim)
    return value(indices[positive_axis(axis, len(indices))])


def _saturate(value: Any, dtype: str) -> Any:
    low, high = te.min_value(dtype), te.max_value(dtype)
    kind = value.dtype
    limited = O.max(O.min(value, high.astype(kind)), low.astype(kind))
    return limited.astype(dtype)


@legalize("quantize", immediate=(1, 2))
def _quantize(
    data: te.Tensor, scale: Any, zero_point: Any, *, axis: int, out_dtype: str
) -> te.Tensor:
    def compute(*indices: Any) -> Any:
        scaled = data(*indices) / _parameter(scale, indices, axis)
        rounded = te.round(scaled) if not dtypes.is_float(out_dtype) else scaled
        shifted = rounded + _parameter(zero_point, indices, axis).astype(rounded.dtype)
        return _saturate(shifted, out_dtype)

    return te.compute(data.shape, compute, name="quantized")


@legalize("dequantize", immediate=(1, 2))
def _dequantize(
    data: te.Tensor, scale: Any, zero_point: Any, *, axis: int, out_dtype: str
) -> te.Tensor:
    kind = "float32" if dtypes.is_float(data.dtype) else "int32"

    def compute(*indices: Any) -> Any:
        point = _parameter(zero_point, indices, axis).astype(kind)
        shifted = data(*indices).astype(kind) - point
        value = shifted.astype("float32") * _parameter(scale, indices, axis).astype("float32")
        return value if out_dtype == "float32" else _saturate(value, out_dtype)

    return te.compute(data.shape, compute, name="dequantized")
