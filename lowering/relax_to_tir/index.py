"""Legalisation of operators that select or place elements by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import Result, constant, legalize, positive_axis
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.indexing import gather_slices, slice_elements


@legalize("take")
def _take(x: te.Tensor, indices: Any, *, axis: int | None, mode: str) -> te.Tensor:
    """Reading outside must not end the process: what TVM reads unchecked is limited here."""
    at = positive_axis(axis or 0, x.ndim)
    return topi.take(x, indices, at, mode="clip" if mode == "fast" else mode)


@legalize("strided_slice", result=True)
def _strided_slice(
    x: te.Tensor,
    axes: Sequence[PrimExpr],
    begin: Sequence[PrimExpr],
    end: Sequence[PrimExpr],
    strides: Sequence[PrimExpr] | None,
    *,
    assume_inbound: bool,
    result: Result,
) -> te.Tensor:
    starts: list[Any] = [te.const(0, size.dtype) for size in x.shape]
    factors = [1] * x.ndim
    steps = [1] * len(axes) if strides is None else [constant(s) for s in strides]
    for axis, low, step in zip(axes, begin, steps, strict=True):
        at = positive_axis(constant(axis), x.ndim)
        starts[at], factors[at] = _start(low, x.shape[at], step, assume_inbound), step
    return slice_elements(x, starts, factors, result.shape, "T_strided_slice")


def _start(begin: Any, size: Any, step: int, inbound: bool) -> Any:
    """The first index of a slice, as Python finds it; only read where the slice is not empty."""
    constant = getattr(begin, "value", None)
    if constant is not None and constant < 0:
        begin = size + begin if inbound else O.max(size + begin, te.const(0, size.dtype))
    if step > 0 or inbound:
        return begin
    return O.min(begin, size - 1)


@legalize("gather_elements", "gather")
def _gather_elements(x: te.Tensor, indices: te.Tensor, *, axis: int) -> te.Tensor:
    return topi.gather(x, axis, indices, assume_inbound=False)


@legalize("gather_nd", "te_gather_nd")
def _gather_nd(x: te.Tensor, indices: te.Tensor, *, batch_dims: int) -> te.Tensor:
    """Relax has the coordinates of a slice in the last dimension, topi in the first."""
    outer, depth = indices.shape[:-1], indices.shape[-1]
    return gather_slices(x, lambda m, at: indices(*at, m), outer, depth, batch_dims, False)


@legalize("index_tensor")
def _index_tensor(x: te.Tensor, indices: Sequence[te.Tensor]) -> te.Tensor:
    return topi.index_tensor(x, indices, assume_inbound=False)


@legalize("one_hot", immediate=(1, 2), result=True)
def _one_hot(
    indices: te.Tensor, on_value: Any, off_value: Any, *, depth: int, axis: int, result: Result
) -> te.Tensor:
    on, off = (v() if isinstance(v, te.Tensor) else v for v in (on_value, off_value))
    return topi.one_hot(indices, on, off, depth, axis, result.dtype)


@legalize("slice_scatter")
def _slice_scatter(
    x: te.Tensor, source: te.Tensor, start: PrimExpr, end: PrimExpr, step: PrimExpr, *, axis: int
) -> te.Tensor:
    at = positive_axis(axis, x.ndim)
    first, stride = _start(start, x.shape[at], constant(step), False), constant(step)
    return topi.slice_scatter(x, source, first, first + source.shape[at] * stride, stride, at)


@legalize("scatter_elements")
def _scatter_elements(
    x: te.Tensor, indices: te.Tensor, updates: te.Tensor, *, axis: int, reduction: str
) -> te.Tensor:
    return topi.scatter_elements(x, indices, updates, axis, reduction)


@legalize("scatter_nd")
def _scatter_nd(
    x: te.Tensor, indices: te.Tensor, updates: te.Tensor, *, reduction: str
) -> te.Tensor:
    return topi.scatter_nd(x, _columns(indices), updates, reduction)


def _columns(indices: te.Tensor) -> te.Tensor:
    """Relax has the coordinates of a place in the last dimension, topi in the first."""
    return topi.transpose(indices, [indices.ndim - 1, *range(indices.ndim - 1)])


@legalize("index_put")
def _index_put(
    x: te.Tensor, indices: Sequence[te.Tensor], values: te.Tensor, *, accumulate: bool
) -> te.Tensor:
    return topi.index_put(x, indices, values, accumulate)
