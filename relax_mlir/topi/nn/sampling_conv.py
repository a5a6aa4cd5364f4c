"""Convolutions that read where their data says, and correlations of two images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import int_list
from relax_mlir.topi.nn.conv import both_sides, per_axis
from relax_mlir.topi.nn.pad import pad
from relax_mlir.topi.transform import transpose

__all__ = ["correlation_nchw", "deformable_conv2d_nchw", "deformable_conv2d_nhwc"]


def deformable_conv2d_nchw(
    data: Tensor, offset: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any,
    deformable_groups: int, groups: int, out_dtype: object | None,
) -> Tensor:  # fmt: skip
    """Each tap reads where an offset moves it (Dai et al., Deformable Convolutional Networks,
    2017), between pixels by bilinear interpolation, zero outside.

    offset: (batch, deformable_groups * height * width * 2, rows, columns), y before x for each tap.
    """
    n, channels, _, _ = data.shape
    filters, per_group, taps_y, taps_x = kernel.shape
    _, _, rows, columns = offset.shape
    steps, spread = per_axis(strides, 2, "strides"), per_axis(dilation, 2, "dilation")
    before, _ = both_sides(padding, 2, int_list([taps_y, taps_x]), spread)
    dtype = data.dtype if out_dtype in (None, "", "void") else out_dtype
    width = int_list(channels)[0] // deformable_groups

    def sampled(b: Any, c: Any, ky: Any, kx: Any, y: Any, x: Any) -> PrimExpr:
        group = O.floordiv(c, width)
        tap = O.add(O.multiply(O.add(O.multiply(group, taps_y), ky), taps_x), kx)
        places = [
            O.add(
                O.cast(offset.dtype, O.add(O.multiply(at, step), O.multiply(k, apart)) - low),
                offset(b, O.add(O.multiply(tap, 2), axis), y, x),
            )
            for axis, (at, step, k, apart, low) in enumerate(
                zip((y, x), steps, (ky, kx), spread, before, strict=True)
            )
        ]
        return _bilinear(data, b, c, places)

    moved = compute([n, channels, taps_y, taps_x, rows, columns], sampled, "data_deform")
    ic = reduce_axis((0, per_group), "ic")
    ky, kx = reduce_axis((0, taps_y), "ky"), reduce_axis((0, taps_x), "kx")
    each = int_list(filters)[0] // groups

    def body(b: Any, f: Any, y: Any, x: Any) -> PrimExpr:
        channel = O.add(O.multiply(O.floordiv(f, each), per_group), ic.var)
        left = O.cast(dtype, moved(b, channel, ky.var, kx.var, y, x))
        right = O.cast(dtype, kernel(f, ic.var, ky.var, kx.var))
        return te_sum(O.multiply(left, right), axis=[ic, ky, kx])

    return compute([n, filters, rows, columns], body, "deformable_conv2d_nchw")


def _bilinear(data: Tensor, b: Any, c: Any, places: Sequence[PrimExpr]) -> PrimExpr:
    """The value between four pixels; pixels outside of the image are zero."""
    sizes = [O.cast("int64", size) for size in data.shape[2:]]
    lows = [O.cast("int64", I.floor(place)) for place in places]
    parts = [
        O.subtract(place, O.cast(place.dtype, low)) for place, low in zip(places, lows, strict=True)
    ]
    total: PrimExpr = O.const(0, data.dtype)
    for dy in (0, 1):
        for dx in (0, 1):
            at = [O.add(low, step) for low, step in zip(lows, (dy, dx), strict=True)]
            inside = I.all(
                *[O.less_equal(0, a) for a in at],
                *[O.less(a, size) for a, size in zip(at, sizes, strict=True)],
            )
            safe = [
                O.max(O.min(a, O.subtract(size, 1)), O.const(0, "int64"))
                for a, size in zip(at, sizes, strict=True)
            ]
            weight = O.const(1, data.dtype)
            for part, step in zip(parts, (dy, dx), strict=True):
                share = part if step else O.subtract(O.const(1, part.dtype), part)
                weight = O.multiply(weight, O.cast(data.dtype, share))
            value = O.multiply(data(b, c, *safe), weight)
            total = O.add(total, O.select(inside, value, O.const(0, data.dtype)))
    return total


def deformable_conv2d_nhwc(
    data: Tensor, offset: Tensor, kernel: Tensor, strides: Any, padding: Any, dilation: Any,
    deformable_groups: int, groups: int, out_dtype: object | None,
) -> Tensor:  # fmt: skip
    """deformable_conv2d of NHWC data and offsets with an HWIO kernel."""
    made = deformable_conv2d_nchw(
        transpose(data, [0, 3, 1, 2]), transpose(offset, [0, 3, 1, 2]),
        transpose(kernel, [3, 2, 0, 1]), strides, padding, dilation, deformable_groups, groups,
        out_dtype,
    )  # fmt: skip
    return transpose(made, [0, 2, 3, 1])


def correlation_nchw(
    data1: Tensor, data2: Tensor, kernel_size: int, max_displacement: int, stride1: int,
    stride2: int, padding: Any, is_multiply: bool,
) -> Tensor:  # fmt: skip
    """How patches of one image are like patches of another around the same place (Fischer et al.,
    FlowNet, 2015): the mean of products, or of absolute differences; a channel a displacement."""
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise Error(f"correlation_nchw: kernel_size is odd and positive, given {kernel_size}")
    before, after = both_sides(padding, 2, [kernel_size] * 2, [1, 1])
    first, second = (pad(x, [0, 0, *before], [0, 0, *after]) for x in (data1, data2))
    batch, channels = data1.shape[:2]
    border = max_displacement + (kernel_size - 1) // 2
    radius = max_displacement // stride2
    across = 2 * radius + 1
    sizes = [-(-(size - 2 * border) // stride1) for size in int_list(list(first.shape[2:]))]
    rc = reduce_axis((0, channels), "rc")
    taps = [reduce_axis((0, kernel_size), name) for name in ("ry", "rx")]
    area = O.cast(data1.dtype, O.multiply(channels, kernel_size * kernel_size))

    def body(n: Any, q: Any, i: Any, j: Any) -> PrimExpr:
        here = [
            O.add(O.add(O.multiply(at, stride1), max_displacement), tap.var)
            for at, tap in zip((i, j), taps, strict=True)
        ]
        there = [
            O.add(at, O.multiply(O.subtract(step, radius), stride2))
            for at, step in zip(here, (O.floordiv(q, across), O.floormod(q, across)), strict=True)
        ]
        a, b = first(n, rc.var, *here), second(n, rc.var, *there)
        alike = O.multiply(a, b) if is_multiply else O.abs(O.subtract(a, b))
        return te_sum(alike, axis=[rc, *taps])

    total = compute([batch, across * across, *sizes], body, "correlation_nchw", "correlation_nchw")
    return compute(total.shape, lambda *i: O.div(total(*i), area), "correlation_mean")
