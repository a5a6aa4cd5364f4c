"""Products and convolutions whose weight lies in panels of output channels, as kernels read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

__all__ = [
    "conv2d_nhwc_groups",
    "conv2d_nhwc_panels",
    "matmul_groups",
    "weight_groups",
    "weight_panels",
]


def weight_panels(weight: np.ndarray, panel: int) -> np.ndarray:
    """A weight [..., I, O] as [O / panel, ..., I, panel]; `panel` divides O."""
    split = weight.reshape(*weight.shape[:-1], weight.shape[-1] // panel, panel)
    return aligned_copy(np.moveaxis(split, -2, 0))


def weight_groups(weight: np.ndarray, group: int, panel: int) -> np.ndarray:
    """A weight [..., I, O] as [O / panel, ..., I / group, panel, group], of a single panel if
    `panel` does not divide O; `group` divides I."""
    outputs = weight.shape[-1]
    width = panel if outputs % panel == 0 else outputs
    panels = weight_panels(weight, width)
    split = panels.reshape(*panels.shape[:-2], panels.shape[-2] // group, group, width)
    return aligned_copy(np.swapaxes(split, -1, -2))


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
    width: int = panel

    def factor(ry: Any, rx: Any, channel: Any, f: Any) -> PrimExpr:
        return weight(O.floordiv(f, width), ry, rx, channel, O.floormod(f, width))

    extents = weight.shape[1:4]
    shape = [data.shape[0], *sizes, O.multiply(weight.shape[0], panel)]
    return _convolution(
        data, factor, extents, strides, padding, dilation, shape, data.dtype, "conv2d_nhwc_panels"
    )


def conv2d_nhwc_groups(
    data: Tensor,
    weight: Tensor,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    shape: Sequence[Any],
    dtype: str,
) -> Tensor:
    """A convolution of data [N, H, W, C] with a weight [panels, kh, kw, C / group, panel, group]
    from `weight_groups`, to an array of this shape and dtype, in which products are summed.
    `padding` is (top, left, bottom, right)."""

    def factor(ry: Any, rx: Any, channel: Any, f: Any) -> PrimExpr:
        return _group_element(weight, (ry, rx), channel, f)

    extents = (weight.shape[1], weight.shape[2], data.shape[3])
    return _convolution(
        data, factor, extents, strides, padding, dilation, shape, dtype, "conv2d_nhwc_groups"
    )


def matmul_groups(data: Tensor, weight: Tensor, shape: Sequence[Any], dtype: str) -> Tensor:
    """The product of data [..., M, K] and a matrix [panels, K / group, panel, group] from
    `weight_groups`, to an array of this shape and dtype, in which products are summed."""
    k = reduce_axis((0, data.shape[-1]), "k")

    def body(*i: Any) -> PrimExpr:
        left, right = data(*i[:-1], k.var), _group_element(weight, (), k.var, i[-1])
        return te_sum(O.multiply(O.cast(dtype, left), O.cast(dtype, right)), axis=k)

    return compute(list(shape), body, "matmul_groups", "matmul_groups")


def _group_element(weight: Tensor, taps: Sequence[Any], channel: Any, f: Any) -> PrimExpr:
    """The element of a weight in groups for an input channel and an output `f`."""
    panel: Any = 0
    group, width = as_int(weight.shape[-1]), as_int(weight.shape[-2])
    if group is None or width is None:
        raise Error(f"weights in groups have a known layout, not {list(weight.shape)}")
    if as_int(weight.shape[0]) != 1:
        panel, f = O.floordiv(f, width), O.floormod(f, width)
    return weight(panel, *taps, O.floordiv(channel, group), f, O.floormod(channel, group))


def _convolution(
    data: Tensor,
    factor: Callable[..., PrimExpr],
    extents: Sequence[Any],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    shape: Sequence[Any],
    dtype: str,
    name: str,
) -> Tensor:
    """The convolution of data [N, H, W, C] with `factor(ry, rx, channel, output)`, whose first
    three have these extents."""
    if any(padding):
        top, left, bottom, right = padding
        data = pad(data, [0, top, left, 0], [0, bottom, right, 0], name="pad_temp")
    *taps, channel = [
        reduce_axis((0, extent), axis)
        for extent, axis in zip(extents, ("ry", "rx", "rc"), strict=True)
    ]

    def body(n: Any, y: Any, x: Any, f: Any) -> PrimExpr:
        place = [
            O.add(O.multiply(at, stride), O.multiply(tap.var, spread))
            for at, stride, tap, spread in zip((y, x), strides, taps, dilation, strict=True)
        ]
        left = O.cast(dtype, data(n, *place, channel.var))
        right = O.cast(dtype, factor(*[tap.var for tap in taps], channel.var, f))
        return te_sum(O.multiply(left, right), axis=[*taps, channel])

    return compute(list(shape), body, name, name, varargs_names=["nn", "yy", "xx", "ff"])
