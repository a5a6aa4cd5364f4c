"""softmax and log_softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import max as te_max
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import normalize_axis


def _row_reduction(
    x: Tensor, axis: int, reducer: Callable[..., Any], element: Callable[..., Any], name: str
) -> Tensor:
    k = reduce_axis((0, x.shape[axis]), "k")
    shape = [s for i, s in enumerate(x.shape) if i != axis]

    def body(*outer: Any) -> PrimExpr:
        return reducer(element(*outer[:axis], k.var, *outer[axis:]), axis=k)

    return compute(shape, body, name)


def _without(indices: Sequence[Any], axis: int) -> list[Any]:
    return [*indices[:axis], *indices[axis + 1 :]]


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`exp(x - max) / sum(exp(x - max))` along an axis."""
    axis = normalize_axis(axis, x.ndim)
    largest = _row_reduction(x, axis, te_max, x, "T_softmax_maxelem")
    exponent = compute(
        x.shape,
        lambda *i: I.exp(O.subtract(x(*i), largest(*_without(i, axis)))),
        "T_softmax_exp",
    )
    total = _row_reduction(x, axis, te_sum, exponent, "T_softmax_expsum")
    return compute(
        x.shape,
        lambda *i: O.div(exponent(*i), total(*_without(i, axis))),
        "T_softmax_norm",
        "softmax_output",
        {"axis": axis},
    )


fast_softmax = softmax


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`x - max - log(sum(exp(x - max)))` along an axis."""
    axis = normalize_axis(axis, x.ndim)
    largest = _row_reduction(x, axis, te_max, x, "T_softmax_maxelem")

    def shifted(*i: Any) -> PrimExpr:
        return O.subtract(x(*i), largest(*_without(i, axis)))

    total = _row_reduction(x, axis, te_sum, lambda *i: I.exp(shifted(*i)), "compute")
    return compute(
        x.shape,
        lambda *i: O.subtract(shifted(*i), I.log(total(*_without(i, axis)))),
        attrs={"axis": axis},
        tag="log_softmax_output",
    )
