"""Convolutions under the names that say their layouts, and depthwise ones with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int, int_list, product
from relax_mlir.topi.nn.conv import both_sides, conv, conv_transpose, per_axis
from relax_mlir.topi.nn.pad import pad
from relax_mlir.topi.nn.space import dilate
from relax_mlir.topi.transform import reshape

__all__ = [
    "conv1d_nwc", "conv2d_NCHWc", "conv2d_hwcn", "conv3d_ncdhw", "conv3d_ndhwc",
    "conv3d_transpose_ncdhw", "depthwise_conv2d_backward_input_nhwc",
    "depthwise_conv2d_backward_weight_nhwc", "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc",
    "group_conv1d_ncw", "group_conv1d_nwc", "group_conv1d_transpose_ncw", "group_conv2d_nhwc",
    "group_conv3d_transpose_ncdhw",
]  # fmt: skip


def _conv(data_layout: str, kernel_layout: str, name: str) -> Callable[..., Tensor]:
    def convolve(
        data: Tensor, kernel: Tensor, stride: Any = 1, padding: Any = "VALID", dilation: Any = 1,
        out_dtype: object | None = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            data, kernel, stride, padding, dilation, 1, data_layout, kernel_layout, out_dtype
        )

    convolve.__name__ = name
    convolve.__doc__ = f"A convolution of {data_layout} data with a {kernel_layout} kernel."
    return convolve


def _group_conv(data_layout: str, kernel_layout: str, name: str) -> Callable[..., Tensor]:
    def convolve(
        data: Tensor, kernel: Tensor, stride: Any = 1, padding: Any = "VALID", dilation: Any = 1,
        groups: int = 1, out_dtype: object | None = None,
    ) -> Tensor:  # fmt: skip
        return conv(
            data, kernel, stride, padding, dilation, groups, data_layout, kernel_layout, out_dtype
        )

    convolve.__name__ = name
    convolve.__doc__ = f"A grouped convolution of {data_layout} data with a {kernel_layout} kernel."
    return convolve


conv1d_nwc = _conv("NWC", "WIO", "conv1d_nwc")
conv2d_hwcn = _conv("HWCN", "HWIO", "conv2d_hwcn")
group_conv1d_ncw = _group_conv("NCW", "OIW", "group_conv1d_ncw")
group_conv1d_nwc = _group_conv("NWC", "WIO", "group_conv1d_nwc")
group_conv2d_nhwc = _group_conv("NHWC", "HWIO", "group_conv2d_nhwc")
conv3d_ncdhw = _group_conv("NCDHW", "OIDHW", "conv3d_ncdhw")
conv3d_ndhwc = _group_conv("NDHWC", "DHWIO", "conv3d_ndhwc")


def conv3d_transpose_ncdhw(data: Tensor, kernel: Tensor, strides: Any, padding: Any,
                           out_dtype: object | None, output_padding: Any) -> Tensor:  # fmt: skip
    """conv_transpose in NCDHW."""
    return conv_transpose(data, kernel, strides, padding, output_padding, out_dtype=out_dtype)


def group_conv1d_transpose_ncw(data: Tensor, kernel: Tensor, stride: Any, padding: Any,
                               out_dtype: object | None, output_padding: Any,
                               groups: int) -> Tensor:  # fmt: skip
    """Grouped conv_transpose in NCW."""
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, groups, out_dtype)


group_conv3d_transpose_ncdhw = group_conv1d_transpose_ncw
"""Grouped conv_transpose in NCDHW: the rank of the data says how many axes are spatial."""


# -- channels in blocks -------------------------------------------------------------------------


def conv2d_NCHWc(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                 layout: str, out_layout: str,
                 out_dtype: object | None = "float32") -> Tensor:  # fmt: skip
    """A convolution of channels in blocks: data (N, C/c, H, W, c), kernel (O/o, I/i, H, W, i, o);
    the result has blocks of o.  Layouts are "NCHW8c" and the like, what the shapes say too."""
    batch, chunks, height, width, block = data.shape
    out_chunks, _, taps_y, taps_x, _, out_block = kernel.shape
    strides, dilations = per_axis(stride, 2, "stride"), per_axis(dilation, 2, "dilation")
    before, after = both_sides(padding, 2, int_list([taps_y, taps_x]), dilations)
    padded = pad(data, [0, 0, *before, 0], [0, 0, *after, 0], name="data_pad")
    dtype = data.dtype if out_dtype in (None, "", "void") else out_dtype
    sizes = [
        (int_list(size)[0] + low + high - (int_list(taps)[0] - 1) * d - 1) // s + 1
        for size, taps, low, high, s, d in zip(
            (height, width), (taps_y, taps_x), before, after, strides, dilations, strict=True
        )
    ]
    ic, ib = reduce_axis((0, chunks), "ic"), reduce_axis((0, block), "ib")
    ky, kx = reduce_axis((0, taps_y), "ky"), reduce_axis((0, taps_x), "kx")

    def body(n: Any, oc: Any, y: Any, x: Any, ob: Any) -> PrimExpr:
        row = O.add(O.multiply(y, strides[0]), O.multiply(ky.var, dilations[0]))
        column = O.add(O.multiply(x, strides[1]), O.multiply(kx.var, dilations[1]))
        left = O.cast(dtype, padded(n, ic.var, row, column, ib.var))
        right = O.cast(dtype, kernel(oc, ic.var, ky.var, kx.var, ib.var, ob))
        return te_sum(O.multiply(left, right), axis=[ic, ky, kx, ib])

    return compute([batch, out_chunks, *sizes, out_block], body, "conv2d_NCHWc", "conv2d_NCHWc")


# -- depthwise ----------------------------------------------------------------------------------


def depthwise_conv2d_nchw(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                          out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """Each channel by itself; kernel (channels, multiplier, height, width)."""
    channels, multiplier, *taps = kernel.shape
    single = reshape(kernel, [product([channels, multiplier]), 1, *taps])
    groups = int_list(channels)[0]
    return conv(data, single, stride, padding, dilation, groups, "NCHW", "OIHW", out_dtype)


def depthwise_conv2d_nhwc(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                          kernel_layout: str = "HWOI",
                          out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """Each channel by itself; kernel (height, width, channels, multiplier), or "HWIO": with the
    multiplier before the channels."""
    if kernel_layout not in ("HWOI", "HWIO"):
        raise Error(f"depthwise_conv2d_nhwc: a kernel is HWOI or HWIO, not {kernel_layout}")
    height, width, first, second = kernel.shape
    channels, multiplier = (first, second) if kernel_layout == "HWOI" else (second, first)
    if kernel_layout == "HWIO" and as_int(multiplier) != 1:
        raise Error("depthwise_conv2d_nhwc: an HWIO kernel has one filter a channel")
    single = reshape(kernel, [height, width, 1, product([channels, multiplier])])
    groups = int_list(channels)[0]
    return conv(data, single, stride, padding, dilation, groups, "NHWC", "HWIO", out_dtype)


def depthwise_conv2d_backward_input_nhwc(
    kernel: Tensor, out_grad: Tensor, oshape: Sequence[int], ishape: Sequence[int], stride: Any,
    padding: Any,
) -> Tensor:  # fmt: skip
    """The gradient with respect to the data: gradients `stride` apart under the turned kernel."""
    taps_y, taps_x, _, multiplier = kernel.shape
    taps, strides = int_list([taps_y, taps_x]), per_axis(stride, 2, "stride")
    before, _ = both_sides(padding, 2, taps, [1, 1])
    sizes = [int(size) for size in ishape[1:3]]
    spread = dilate(out_grad, [1, *strides, 1])
    lows = [tap - 1 - low for tap, low in zip(taps, before, strict=True)]
    wide = int_list(spread.shape[1:3])
    highs = [s + t - 1 - w - low for s, t, w, low in zip(sizes, taps, wide, lows, strict=True)]
    padded = pad(spread, [0, *lows, 0], [0, *highs, 0], name="grad_pad")
    ky, kx = reduce_axis((0, taps_y), "ky"), reduce_axis((0, taps_x), "kx")
    m = reduce_axis((0, multiplier), "m")

    def body(n: Any, y: Any, x: Any, c: Any) -> PrimExpr:
        channel = O.add(O.multiply(c, multiplier), m.var)
        gradient = padded(n, O.add(y, ky.var), O.add(x, kx.var), channel)
        turned = [O.subtract(taps[0] - 1, ky.var), O.subtract(taps[1] - 1, kx.var)]
        return te_sum(O.multiply(gradient, kernel(*turned, c, m.var)), axis=[ky, kx, m])

    shape = [int(size) for size in ishape]
    return compute(shape, body, "depthwise_conv2d_backward_input_nhwc")


def depthwise_conv2d_backward_weight_nhwc(
    data: Tensor, out_grad: Tensor, oshape: Sequence[int], fshape: Sequence[int], stride: Any,
    padding: Any,
) -> Tensor:  # fmt: skip
    """The gradient with respect to the kernel (height, width, channels, multiplier)."""
    strides, multiplier = per_axis(stride, 2, "stride"), int(fshape[3])
    before, after = both_sides(padding, 2, [int(f) for f in fshape[:2]], [1, 1])
    padded = pad(data, [0, *before, 0], [0, *after, 0], name="padded_input")
    n = reduce_axis((0, out_grad.shape[0]), "n")
    y, x = (reduce_axis((0, out_grad.shape[i]), name) for i, name in ((1, "y"), (2, "x")))

    def body(ky: Any, kx: Any, c: Any, m: Any) -> PrimExpr:
        row = O.add(O.multiply(y.var, strides[0]), ky)
        column = O.add(O.multiply(x.var, strides[1]), kx)
        gradient = out_grad(n.var, y.var, x.var, O.add(O.multiply(c, multiplier), m))
        return te_sum(O.multiply(gradient, padded(n.var, row, column, c)), axis=[n, y, x])

    shape = [int(size) for size in fshape]
    return compute(shape, body, "depthwise_conv2d_backward_weight_nhwc")
