"""Boxes from anchors and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.nn.softmax import softmax


def multibox_transform_loc(
    cls_pred: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    variances: Sequence[float],
    clip: bool = False,
    threshold: float = 0.0,
    keep_background: bool = True,
    apply_softmax: bool = True,
) -> list[Tensor]:
    """Boxes (batch, N, 4) as (ymin, xmin, ymax, xmax) and scores (batch, classes, N).

    cls_pred: (batch, classes, N).  loc_pred: (batch, 4 N), offsets (x, y, w, h) in units of
    `variances`.  anchor: (1, N, 4), (left, top, right, bottom).  Scores below the threshold become
    zero, and those of class 0 unless `keep_background`.
    """
    dtype = cls_pred.dtype
    batch, _, count = cls_pred.shape
    x, y, w, h = (O.const(float(v), dtype) for v in variances)
    zero, half, one = (O.const(v, dtype) for v in (0.0, 0.5, 1.0))

    def side(b: Any, a: Any, vertical: bool, end: int) -> PrimExpr:
        """One edge of a box: its centre, moved, and half its size, scaled."""
        low, high = anchor(0, a, 1 if vertical else 0), anchor(0, a, 3 if vertical else 2)
        shift, scale = (y, h) if vertical else (x, w)
        base = O.multiply(a, 4)
        offset = loc_pred(b, O.add(base, 1 if vertical else 0))
        growth = loc_pred(b, O.add(base, 3 if vertical else 2))
        extent = high - low
        centre = offset * shift * extent + (low + high) * half
        reach = half * I.exp(growth * scale) * extent
        edge = centre + reach if end else centre - reach
        return O.max(zero, O.min(one, edge)) if clip else edge

    def box(b: Any, a: Any, k: Any) -> PrimExpr:
        edges = [side(b, a, vertical, end) for end in (0, 1) for vertical in (True, False)]
        result = edges[3]
        for position in (2, 1, 0):
            result = O.select(O.equal(k, position), edges[position], result)
        return result

    scores = softmax(cls_pred, 1) if apply_softmax else cls_pred
    limit = O.const(float(threshold), dtype)

    def score(b: Any, c: Any, n: Any) -> PrimExpr:
        value = scores(b, c, n)
        kept = O.less_equal(limit, value)
        if not keep_background:
            kept = I.all(kept, O.less(0, c))
        return O.select(kept, value, zero)

    boxes = compute([batch, count, 4], box, "multibox_boxes")
    return [boxes, compute(cls_pred.shape, score, "multibox_scores")]
