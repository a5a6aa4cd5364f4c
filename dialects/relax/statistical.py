"""Reductions and scans: max, mean, sum, cumsum ...

`axis` is None (every dimension), an integer or a list; `keepdims` keeps the reduced dimensions with
size one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir


def reduced(info: TensorInfo, axis: object, keepdims: bool) -> TensorInfo:
    """What is left of a tensor when `axis` is reduced."""
    if info.ndim < 0:
        return info.with_dims(() if axis is None and not keepdims else None)
    axes = infer.normalize_axes(axis, info.ndim)
    if info.dims is None:
        return info.with_dims(None, info.ndim) if keepdims else _dropped(info, len(axes))
    dims: list[Dim] = []
    for i, dim in enumerate(info.dims):
        if i not in axes:
            dims.append(dim)
        elif keepdims:
            dims.append(1)
    return info.with_dims(dims)


def _dropped(info: TensorInfo, count: int) -> TensorInfo:
    return info.with_dims(() if count == info.ndim else None, info.ndim - count)


def _reduce(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    return reduced(info, attributes["axis"], attributes["keepdims"]).to_type()


def _median(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    """With an axis, the median and where it was found; without, the median alone."""
    info = reduced(infer.tensor(kinds[0]), attributes["axis"], attributes["keepdims"])
    if attributes["axis"] in (None, []):
        return info.to_type()
    return types.tuple_type([info.to_type(), info.with_dtype("int64").to_type()])


def _scan(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    dtype = infer.dtype_attribute(attributes) or info.dtype
    if attributes["axis"] is None:
        size = None if info.dims is None else (dim_algebra.product(info.dims),)
        return TensorInfo(size, dtype, 1).to_type()
    if info.ndim >= 0:
        infer.normalize_axis(attributes["axis"], info.ndim)
    return info.with_dtype(dtype).to_type()


REDUCTIONS = "max mean min prod std sum variance".split()

for _name in REDUCTIONS:
    define(
        _name,
        ["x"],
        _reduce,
        {"axis": None, "keepdims": False},
        doc=f"The {_name} of the elements along some dimensions.",
    )

define(
    "median",
    ["x"],
    _median,
    {"axis": None, "keepdims": False},
    doc="The lower median; with an axis, a tuple of it and its int64 index.",
)

for _name in ("cumsum", "cumprod"):
    define(
        _name,
        ["data"],
        _scan,
        {"axis": None, "dtype": None, "exclusive": False},
        doc=f"{_name} along a dimension, of the flattened tensor without an axis.",
    )
