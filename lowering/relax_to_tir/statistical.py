"""Legalisation of reductions."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize, normalized_axes
from relax_mlir.tir.expr import PrimExpr

for _name in ("max", "min", "prod", "sum"):
    ROWS[_name] = Row(_name, getattr(topi, _name))


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
