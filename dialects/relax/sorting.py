"""Operators whose result depends on the order of the elements: sort, argsort, topk, unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]


def _sort(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    if info.ndim >= 0:
        infer.normalize_axis(attributes["axis"], info.ndim)
    return info.to_type()


def _argsort(kinds: Kinds, attributes: Attributes) -> ir.Type:
    _sort(kinds, attributes)
    dtype = infer.dtype_attribute(attributes)
    return infer.tensor(kinds[0]).with_dtype(dtype).to_type()


def _topk(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    kind = attributes["ret_type"]
    if kind not in ("both", "values", "indices"):
        raise InferError(f"ret_type is 'both', 'values' or 'indices', not '{kind}'")
    axis = infer.normalize_axis(attributes["axis"], info.ndim) if info.ndim >= 0 else 0
    if info.dims is not None:
        size, k = info.dims[axis], attributes["k"]
        chosen = k if k > 0 else size
        if isinstance(size, int) and k > size:
            raise InferError(f"k is {k}, more than {size}: {types.describe(kinds[0])}")
        info = info.with_dims((*info.dims[:axis], chosen, *info.dims[axis + 1 :]))
    values, indices = info, info.with_dtype(infer.dtype_attribute(attributes))
    if kind == "both":
        return types.tuple_type([values.to_type(), indices.to_type()])
    return (values if kind == "values" else indices).to_type()


def _nonzero(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infer.tensor(kinds[0])
    return TensorInfo(None, "int64", 2).to_type()


def _unique(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    axis = attributes["axis"]
    if axis is not None and info.ndim >= 0:
        infer.normalize_axis(axis, info.ndim)
    values = info.with_dims(None, 1 if axis is None else info.ndim).to_type()
    extra = [
        TensorInfo(None, "int64", 1).to_type()
        for name in ("return_index", "return_inverse", "return_counts")
        if attributes[name]
    ]
    return types.tuple_type([values, *extra]) if extra else values


define("sort", ["x"], _sort, {"axis": -1, "descending": False}, doc="Sort along a dimension.")
define(
    "argsort",
    ["data"],
    _argsort,
    {"axis": -1, "descending": False, "dtype": "int32"},
    doc="The indices that sort along a dimension; equal elements keep their order.",
)
define(
    "topk",
    ["data"],
    _topk,
    {"k": 1, "axis": -1, "ret_type": "both", "largest": True, "dtype": "int32"},
    doc="The k largest (or smallest) elements along a dimension, in order, and their indices.",
)
define("nonzero", ["x"], _nonzero, doc="The coordinates of nonzero elements, one row a dimension.")
define(
    "unique",
    ["x"],
    _unique,
    {
        "sorted": True,
        "return_index": False,
        "return_inverse": False,
        "return_counts": False,
        "axis": None,
    },
    doc="The different elements (or slices along an axis), and what else is asked for.",
)
