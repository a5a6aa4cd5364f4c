"""Operators that read what a tensor is: its rank, dtype, sizes, strides and offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import Infer, InferError, define
from relax_mlir.mlir import ir

RESULTS = {
    "tensor_ndim": "int32",
    "tensor_dtype_code": "uint8",
    "tensor_dtype_bits": "uint8",
    "tensor_dtype_lanes": "uint16",
    "tensor_byte_offset": "int64",
    "tensor_elem_offset": "int64",
}
"""The dtype of each scalar that is read of a tensor."""

_PER_AXIS = ("tensor_shape_i", "tensor_stride_i")


def _whole(dtype: str) -> Infer:
    def infer_type(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
        infer.tensor(kinds[0])
        return types.prim_type(dtype)

    return infer_type


def _axis(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    prim = types.prim_info(kinds[1])
    if prim is None or not dtypes.is_integer(prim[0]):
        raise InferError(f"axis must be an integer, got {types.describe(kinds[1])}")
    axis = prim[1]
    if isinstance(axis, int) and info.ndim >= 0 and not 0 <= axis < info.ndim:
        raise InferError(f"axis {axis} is out of range for {types.describe(kinds[0])}")
    return types.prim_type("int64")


for _name, _dtype in RESULTS.items():
    define(f"inspect.{_name}", ["tensor"], _whole(_dtype), doc=f"{_name[7:]} of a tensor.")
for _name in _PER_AXIS:
    define(
        f"inspect.{_name}",
        ["tensor", "axis"],
        _axis,
        kinds={"axis": "prim"},
        doc=f"The {_name[7:-2]} of a tensor along an axis.",
    )
