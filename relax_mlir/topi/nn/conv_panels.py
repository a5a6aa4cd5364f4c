"""Convolutions whose weight lies in panels of output channels, as kernels read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.aligned_arrays import aligned_copy
from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int
from relax_mlir.topi.nn.pad import pad

__all__ = ["conv2d_nhwc_panels", "weight_panels"]


def weight_panels(weight: np.ndarray, panel: int) -> np.ndarray:
    """A weight [..., I, O] as [O / panel, ..., I, panel]; `panel` divides O."""
    split = weight.reshape(*weight.shape[:-1], weight.shape[-1] // panel, panel)
    return aligned_copy(np.moveaxis(split, -2, 0))


def conv2d_nhwc_panels(
    data: Tensor,
    weight: Tensor,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    sizes: Sequence[Any],
) -> Tensor:
    """A convolution of data [N, H, W, C] with a weight [O / panel, kh, kw, C, panel], to
    [N, *sizes, O].  `padding` is (top, left, bottom, right).  Raises Error if the width of the
    panels is not known."""
    panel = as_int(weight.shape[4])
    if panel is None:
        raise Error(f"conv2d_nhwc_panels: panels of unknown width {weight.shape[4]}")
    if any(padding):
        top, left, bottom, right = padding
        data = pad(data, [0, top, left, 0], [0, bottom, right, 0], name="pad_temp")
    taps = [reduce_axis((0, weight.shape[1 + i]), name) for i, name in enumerate(("ry", "rx"))]
    channel = reduce_axis((0, weight.shape[3]), "rc")
    width: int = panel

    def body(n: Any, y: Any, x: Any, f: Any) -> PrimExpr:
        place = [
            O.add(O.multiply(at, stride), O.multiply(tap.var, spread))
            for at, stride, tap, spread in zip((y, x), strides, taps, dilation, strict=True)
        ]
        factor = weight(
            O.floordiv(f, width), taps[0].var, taps[1].var, channel.var, O.floormod(f, width)
        )
        return te_sum(O.multiply(data(n, *place, channel.var), factor), axis=[*taps, channel])

    outputs = O.multiply(weight.shape[0], panel)
    return compute(
        [data.shape[0], *sizes, outputs],
        body,
        "conv2d_nhwc_panels",
        "conv2d_nhwc_panels",
        varargs_names=["nn", "yy", "xx", "ff"],
    )
