"""Legalisation of reductions."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import (
    ROWS,
    Result,
    Row,
    is_zero,
    legalize,
    normalized_axes,
)
from relax_mlir.tir.expr import PrimExpr

ROWS["max"] = Row("max", topi.max)
ROWS["min"] = Row("min", topi.min)


@legalize("sum", result=True)
def _sum(x: te.Tensor, *, axis: Any, keepdims: bool, result: Result) -> te.Tensor:
    return _of_nothing(x, axis, 0, result) or topi.sum(x, axis, keepdims)


@legalize("prod", result=True)
def _prod(x: te.Tensor, *, axis: Any, keepdims: bool, result: Result) -> te.Tensor:
    return _of_nothing(x, axis, 1, result) or topi.prod(x, axis, keepdims)


def _of_nothing(x: te.Tensor, axis: Any, identity: int, result: Result) -> te.Tensor | None:
    """The reduction over a dimension of size zero: a block without iterations writes nothing."""
    if any(is_zero(x.shape[dim]) for dim in normalized_axes(axis, x.ndim)):
        return topi.full(result.shape, result.dtype, identity)
    return None


def count(x: te.Tensor, axis: Any) -> PrimExpr:
    """The number of elements along some axes."""
    product = te.const(1, "int64")
    for dim in normalized_axes(axis, x.ndim):
        product = product * x.shape[dim]
    return product


@legalize("mean")
def mean(x: te.Tensor, *, axis: Any, keepdims: bool) -> te.Tensor:
    total = topi.sum(x, axis=axis, keepdims=keepdims)
    return topi.divide(total, te.const(1, x.dtype) * count(x, axis).astype(x.dtype))


@legalize("variance")
def variance(x: te.Tensor, *, axis: Any, keepdims: bool) -> te.Tensor:
    deviation = topi.subtract(x, mean(x, axis=axis, keepdims=True))
    return mean(topi.multiply(deviation, deviation), axis=axis, keepdims=keepdims)


@legalize("std")
def _std(x: te.Tensor, *, axis: Any, keepdims: bool) -> te.Tensor:
    return topi.sqrt(variance(x, axis=axis, keepdims=keepdims))


ROWS["cumsum"] = Row("cumsum", topi.cumsum, on_gpu=topi.gpu.cumsum)
ROWS["cumprod"] = Row("cumprod", topi.cumprod, on_gpu=topi.gpu.cumprod)
