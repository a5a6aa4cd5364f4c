"""Losses."""

from __future__ import annotations

from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.broadcast import divide
from relax_mlir.topi.reduction import sum as topi_sum

REDUCTIONS = ("mean", "sum", "none")


def class_weight(
    targets: Tensor, weights: Tensor | None, classes: PrimExpr, ignore_index: int, dtype: str
) -> Tensor:
    """The weight of each target's class: zero for `ignore_index` and for what is no class."""
    zero = O.const(0, dtype)

    def body(*i: Any) -> PrimExpr:
        target = O.cast(classes.dtype, targets(*i))
        inside = I.all(O.less_equal(0, target), O.less(target, classes))
        kept = I.all(inside, O.not_equal(target, O.const(ignore_index, target.dtype)))
        value = O.const(1, dtype) if weights is None else weights(_safe(target, classes))
        return O.select(kept, value, zero)

    return compute(targets.shape, body, "nll_weight")


def _safe(target: PrimExpr, classes: PrimExpr) -> PrimExpr:
    """A target that can be read at, whatever it is."""
    last = O.subtract(classes, O.const(1, classes.dtype))
    return O.max(O.min(target, last), O.const(0, target.dtype))


def nll_loss(
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """The negative log-likelihood of the target classes; the mean is weighted by class.

    predictions: (classes,), or (batch, classes, ...) with targets (batch, ...).  Targets equal to
    `ignore_index`, and those that are no class, count for nothing.
    """
    if reduction not in REDUCTIONS:
        raise Error(f"nll_loss: reduction must be one of {', '.join(REDUCTIONS)}")
    classes = predictions.shape[0 if predictions.ndim == 1 else 1]
    weight = class_weight(targets, weights, classes, ignore_index, predictions.dtype)
    zero = O.const(0, predictions.dtype)

    def body(*i: Any) -> PrimExpr:
        safe = _safe(O.cast(classes.dtype, targets(*i)), classes)
        picked = predictions(safe) if predictions.ndim == 1 else predictions(i[0], safe, *i[1:])
        # What is ignored may be infinite there: it must not become NaN.
        ignored = O.equal(weight(*i), zero)
        return O.select(ignored, zero, O.subtract(zero, O.multiply(picked, weight(*i))))

    losses = compute(targets.shape, body, "nll_loss", "nll_loss")
    if reduction == "none":
        return losses
    total = topi_sum(losses)
    return total if reduction == "sum" else divide(total, topi_sum(weight))
