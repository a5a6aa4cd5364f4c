"""Changes of element type: astype, wrap_param, quantize, dequantize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.mlir import ir


def _astype(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    dtype = infer.dtype_attribute(attributes)
    if dtype is None:
        raise InferError("attribute 'dtype' is missing")
    return infer.tensor_or_scalar(kinds[0]).with_dtype(dtype).to_type()


def _quantized(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    data = infer.tensor(kinds[0], "data")
    dtype = infer.dtype_attribute(attributes, "out_dtype")
    for kind, what in zip(kinds[1:], ("scale", "zero_point"), strict=True):
        _check_parameter(data, kinds[0], kind, what, attributes["axis"])
    return data.with_dtype(dtype).to_type()


def _check_parameter(
    data: types.TensorInfo, data_kind: ir.Type, kind: ir.Type, what: str, axis: int
) -> None:
    """A scale or zero point has one element, or one for every index along the axis."""
    info = infer.tensor(kind, what)
    if info.ndim > 1 and any(dim != 1 for dim in info.dims or ()):
        raise InferError(f"{what} must be a scalar or a vector, got {types.describe(kind)}")
    if info.ndim != 1 or info.dims in (None, (1,)) or data.dims is None:
        return
    size = data.dims[infer.normalize_axis(axis, data.ndim)]
    if dim_algebra.differ(size, info.dims[0]):
        raise InferError(
            f"{what} {types.describe(kind)} does not fit dimension {axis} of "
            f"{types.describe(data_kind)}"
        )


def _quantize(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    infer.require_float(infer.tensor(kinds[0], "data"), kinds[0])
    return _quantized(kinds, attributes)


def _dequantize(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    dtype = infer.dtype_attribute(attributes, "out_dtype")
    if dtype is not None and not dtypes.is_float(dtype):
        raise InferError(f"out_dtype must be a float dtype, got {dtype}")
    return _quantized(kinds, attributes)


define("astype", ["x"], _astype, {"dtype": REQUIRED}, doc="Convert every element.")
define(
    "wrap_param",
    ["data"],
    _astype,
    {"dtype": "float32"},
    doc="Mark a constant as a model parameter, converted to a dtype.",
)
define(
    "quantize",
    ["data", "scale", "zero_point"],
    _quantize,
    {"axis": -1, "out_dtype": "int8"},
    doc="clip(round(data / scale) + zero_point), scale and zero point along a dimension.",
)
define(
    "dequantize",
    ["data", "scale", "zero_point"],
    _dequantize,
    {"axis": -1, "out_dtype": "float32"},
    doc="(data - zero_point) * scale, scale and zero point along a dimension.",
)
