"""Between tensors and shape values: shape_of, shape_to_tensor, tensor_to_shape, size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.mlir import ir


def _shape_of(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    return types.shape_type(info.dims, info.ndim)


def _shape_to_tensor(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    shape = infer.shape_dims(kinds[0])
    return types.tensor_type(None if shape.ndim < 0 else (shape.ndim,), "int64", 1)


def _tensor_to_shape(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    infer.require_rank(info, 1, kinds[0])
    if info.dtype not in (None, "int64"):
        raise InferError(f"needs an int64 vector, got {types.describe(kinds[0])}")
    ndim = info.dims[0] if info.dims and isinstance(info.dims[0], int) else -1
    return types.shape_type(None, ndim)


def _size(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    infer.tensor(kinds[0])
    return types.tensor_type((), "int64")


define("shape_of", ["x"], _shape_of, doc="The shape of a tensor, as a shape value.")
define(
    "shape_to_tensor",
    ["shape"],
    _shape_to_tensor,
    kinds={"shape": "shape"},
    doc="A shape as an int64 vector.",
)
define("tensor_to_shape", ["x"], _tensor_to_shape, doc="An int64 vector as a shape.")
define("size", ["x"], _size, doc="The number of elements, an int64 scalar tensor.")
