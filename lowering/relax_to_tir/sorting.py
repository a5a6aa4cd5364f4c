"""Legalisation of sort, argsort, topk, median and bucketize."""

from __future__ import annotations

from functools import partial
from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize


def _sort(library: Any, data: te.Tensor, *, axis: int, descending: bool) -> te.Tensor:
    return library.sort(data, axis, not descending)


def _argsort(
    library: Any, data: te.Tensor, *, axis: int, descending: bool, dtype: str
) -> te.Tensor:
    return library.argsort(data, None, axis, not descending, dtype)


def _topk(
    library: Any, data: te.Tensor, *, k: int, axis: int, ret_type: str, largest: bool, dtype: str
) -> Any:
    return library.topk(data, k, axis, ret_type, not largest, dtype)


for _name, _row in (("sort", _sort), ("argsort", _argsort), ("topk", _topk)):
    ROWS[_name] = Row(_name, partial(_row, topi), on_gpu=partial(_row, topi.gpu))


@legalize("median")
def _median(data: te.Tensor, *, axis: Any, keepdims: bool) -> Any:
    """The lower of the two middle elements, as torch.median."""
    axes = [axis] if isinstance(axis, int) else axis
    return topi.median(data, axes[0] if axes else None, keepdims)


@legalize("bucketize", "searchsorted")
def _bucketize(
    values: te.Tensor, boundaries: te.Tensor, *, out_int32: bool, right: bool
) -> te.Tensor:
    return topi.searchsorted(boundaries, values, right, "int32" if out_int32 else "int64")
