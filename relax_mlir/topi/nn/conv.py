"""Convolutions of any number of spatial dimensions, in any layout that names its axes."""

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
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import as_int, same_size
from relax_mlir.topi.nn.pad import pad

_AXES = ("nn", "ff", "yy", "xx", "zz")
_REDUCE = ("rc", "ry", "rx", "rz")
_SPATIAL = "DHW"


def spatial_letters(dims: int) -> str:
    """The letters of the spatial axes: W, HW, DHW."""
    return _SPATIAL[-dims:]


def per_axis(value: Any, dims: int, what: str) -> list[int]:
    """One number an axis, from one number or a list of `dims`."""
    values = list(value) if isinstance(value, (list, tuple)) else [value] * dims
    if len(values) != dims:
        raise Error(f"{what}: one number or {dims} expected, given {value}")
    if any(isinstance(v, str) for v in values):
        raise Error(f"{what}: numbers are expected, the size '{value}' is a symbol")
    return [int(v) for v in values]


def both_sides(
    padding: Any, dims: int, kernel: Sequence[Any], dilation: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    """Padding before and after each spatial axis, from TVM's forms: a number, one an axis, one a
    side (all befores, then all afters), "SAME" or "VALID"."""
    if padding == "VALID":
        return [0] * dims, [0] * dims
    if padding == "SAME":
        totals = [(int(k) - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        return [t // 2 for t in totals], [t - t // 2 for t in totals]
    values = list(padding) if isinstance(padding, (list, tuple)) else [padding] * dims
    if len(values) == dims:
        return values, values
    if len(values) != 2 * dims:
        raise Error(f"padding: 1, {dims} or {2 * dims} numbers expected, given {padding}")
    return values[:dims], values[dims:]


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: object | None = None,
) -> Tensor:
    """A convolution with `groups`; out_dtype defaults to the input's.

    Layouts name the axes once each: N, C and spatial ones for data, O, I and spatial for kernels.
    Raises Error if channels or layouts do not fit.
    """
    dims = inp.ndim - 2
    letters = spatial_letters(dims)
    kernel_layout = kernel_layout or f"OI{letters}"
    _check_layouts(inp, filt, data_layout, kernel_layout, letters)
    size = {x: inp.shape[data_layout.index(x)] for x in data_layout}
    kernel = {x: filt.shape[kernel_layout.index(x)] for x in kernel_layout}
    _check_channels(size["C"], kernel["I"], kernel["O"], groups)
    strides = per_axis(stride, dims, "stride")
    dilations = per_axis(dilation, dims, "dilation")
    before, after = both_sides(padding, dims, [kernel[x] for x in letters], dilations)
    padded = _padded(inp, data_layout, letters, before, after)
    dtype = inp.dtype if out_dtype in (None, "", "void") else out_dtype
    rc = reduce_axis((0, kernel["I"]), "rc")
    reduced = [reduce_axis((0, kernel[x]), _REDUCE[i + 1]) for i, x in enumerate(letters)]
    out = {"N": size["N"], "C": kernel["O"]}
    for i, x in enumerate(letters):
        around = O.add(O.add(size[x], before[i]), after[i])
        out[x] = _output_size(around, kernel[x], strides[i], dilations[i])
    order = [data_layout.index(x) for x in f"NC{letters}"]

    def body(*at: Any) -> PrimExpr:
        n, f, *place = (at[i] for i in order)
        channel: PrimExpr = rc.var
        if groups > 1:
            width = simplify(O.floordiv(kernel["O"], groups))
            channel = O.add(O.multiply(O.floordiv(f, width), kernel["I"]), rc.var)
        read = {"N": n, "C": channel}
        weight: dict[str, Any] = {"O": f, "I": rc.var}
        for i, x in enumerate(letters):
            offset = O.multiply(reduced[i].var, dilations[i])
            read[x] = O.add(O.multiply(place[i], strides[i]), offset)
            weight[x] = reduced[i].var
        left = O.cast(dtype, padded(*[read[x] for x in data_layout]))
        right = O.cast(dtype, filt(*[weight[x] for x in kernel_layout]))
        return te_sum(O.multiply(left, right), axis=_reduce_order(data_layout, rc, reduced))

    names = dict(zip(f"NC{letters}", _AXES, strict=False))
    return compute(
        [out[x] for x in data_layout],
        body,
        f"{'group_' if groups > 1 else ''}conv{dims}d_{data_layout.lower()}",
        f"conv{dims}d_{data_layout.lower()}",
        varargs_names=[names[x] for x in data_layout],
    )


def _output_size(size: PrimExpr, kernel: PrimExpr, stride: int, dilation: int) -> PrimExpr:
    extent = O.add(O.multiply(O.subtract(kernel, 1), dilation), 1)
    return simplify(O.add(O.floordiv(O.subtract(size, extent), stride), 1))


def _reduce_order(data_layout: str, rc: Any, reduced: Sequence[Any]) -> list[Any]:
    """Channels are summed where the layout has them, before or after the spatial axes."""
    return [*reduced, rc] if data_layout.endswith("C") else [rc, *reduced]


def _padded(
    inp: Tensor, layout: str, letters: str, before: Sequence[Any], after: Sequence[Any]
) -> Tensor:
    if not any([*before, *after]):
        return inp
    low = dict(zip(letters, before, strict=True))
    high = dict(zip(letters, after, strict=True))
    return pad(
        inp, [low.get(x, 0) for x in layout], [high.get(x, 0) for x in layout], name="pad_temp"
    )


def _check_layouts(
    inp: Tensor, filt: Tensor, data_layout: str, kernel_layout: str, letters: str
) -> None:
    if sorted(data_layout) != sorted(f"NC{letters}"):
        raise Error(f"conv: {data_layout!r} is no data layout of {inp.ndim} axes")
    if sorted(kernel_layout) != sorted(f"OI{letters}") or filt.ndim != inp.ndim:
        raise Error(f"conv: {kernel_layout!r} is no kernel layout of {filt.ndim} axes")


def _check_channels(channels: PrimExpr, inner: PrimExpr, outer: PrimExpr, groups: int) -> None:
    a, b, c = as_int(channels), as_int(inner), as_int(outer)
    if c is not None and c % groups:
        raise Error(f"conv: {c} output channels do not divide into {groups} groups")
    if a is not None and b is not None and a != b * groups:
        raise Error(f"conv: {a} input channels, {b} in the kernel, {groups} groups")


def conv1d(data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID",
           dilation: Any = 1, groups: int = 1, data_layout: str = "NCW", kernel_layout: str = "",
           out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """A one-dimensional convolution."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout,
                out_dtype)  # fmt: skip


def conv2d(data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
           data_layout: str = "NCHW", kernel_layout: str = "", out_dtype: object | None = None,
           groups: int = 1) -> Tensor:  # fmt: skip
    """A two-dimensional convolution."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout,
                out_dtype)  # fmt: skip


def conv3d(data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
           groups: int = 1, data_layout: str = "NCDHW", kernel_layout: str = "",
           out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """A three-dimensional convolution."""
    return conv(data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout,
                out_dtype)  # fmt: skip


def conv1d_ncw(data: Tensor, kernel: Tensor, strides: Any = 1, padding: Any = "VALID",
               dilation: Any = 1, out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """conv1d in NCW."""
    return conv(data, kernel, strides, padding, dilation, 1, "NCW", "", out_dtype)


def conv2d_nchw(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """conv2d in NCHW."""
    return conv(data, kernel, stride, padding, dilation, 1, "NCHW", "", out_dtype)


def conv2d_nhwc(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """conv2d in NHWC with an HWIO kernel."""
    return conv(data, kernel, stride, padding, dilation, 1, "NHWC", "HWIO", out_dtype)


def group_conv2d_nchw(data: Tensor, kernel: Tensor, stride: Any, padding: Any, dilation: Any,
                      groups: int, out_dtype: object | None = None) -> Tensor:  # fmt: skip
    """Grouped conv2d in NCHW."""
    return conv(data, kernel, stride, padding, dilation, groups, "NCHW", "", out_dtype)


def conv_transpose(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: object | None = None,
    data_layout: str = "",
    kernel_layout: str = "",
) -> Tensor:
    """The transpose (gradient) of a convolution; by default data N, C, spatial, kernel I, O,
    spatial.

    The output size is `(in - 1) * stride - before - after + dilation * (k - 1) + output_padding
    + 1`.  Raises Error if channels or layouts do not fit.
    """
    dims = data.ndim - 2
    letters = spatial_letters(dims)
    data_layout, kernel_layout = data_layout or f"NC{letters}", kernel_layout or f"IO{letters}"
    _check_layouts(data, kernel, data_layout, kernel_layout, letters)
    size = {x: data.shape[data_layout.index(x)] for x in data_layout}
    taps = {x: kernel.shape[kernel_layout.index(x)] for x in kernel_layout}
    strides, dilations = per_axis(strides, dims, "strides"), per_axis(dilation, dims, "dilation")
    extra = per_axis(output_padding, dims, "output_padding")
    before, after = both_sides(padding, dims, [taps[x] for x in letters], dilations)
    width, inner = taps["O"], simplify(O.floordiv(taps["I"], groups))
    if as_int(taps["I"]) is not None and not same_size(taps["I"], size["C"]):
        raise Error(f"conv_transpose: {size['C']} input channels, {taps['I']} in the kernel")
    dtype = data.dtype if out_dtype in (None, "", "void") else out_dtype
    out = {"N": size["N"], "C": simplify(O.multiply(width, groups))}
    for i, x in enumerate(letters):
        reach = O.add(O.multiply(O.subtract(taps[x], 1), dilations[i]), extra[i] + 1)
        out[x] = _spread_size(size[x], strides[i], before[i] + after[i], reach)
    dc = reduce_axis((0, inner), "dc")
    reduced = [reduce_axis((0, taps[x]), f"d{x.lower()}") for x in letters]

    def body(*place: Any) -> PrimExpr:
        """The data elements whose kernel reaches an output element, where they exist."""
        at = dict(zip(data_layout, place, strict=True))
        group = O.floordiv(at["C"], width)
        channel = O.add(O.multiply(group, inner), dc.var) if groups > 1 else dc.var
        column = O.floormod(at["C"], width) if groups > 1 else at["C"]
        source, weight = {"N": at["N"], "C": channel}, {"I": channel, "O": column}
        checks: list[PrimExpr] = []
        for i, x in enumerate(letters):
            offset = O.subtract(O.add(at[x], before[i]), O.multiply(reduced[i].var, dilations[i]))
            source[x], weight[x] = O.floordiv(offset, strides[i]), reduced[i].var
            if strides[i] > 1:
                checks.append(O.equal(O.floormod(offset, strides[i]), 0))
            checks += [O.less_equal(0, offset), O.less(source[x], size[x])]
        value = O.cast(dtype, data(*[source[x] for x in data_layout]))
        inside = I.if_then_else(I.all(*checks), value, O.const(0, dtype))
        factor = O.cast(dtype, kernel(*[weight[x] for x in kernel_layout]))
        return te_sum(O.multiply(inside, factor), axis=[dc, *reduced])

    names = dict(zip(f"NC{letters}", _AXES, strict=False))
    axes, shape = [names[x] for x in data_layout], [out[x] for x in data_layout]
    return compute(shape, body, "compute", f"conv{dims}d_transpose", varargs_names=axes)


def _spread_size(size: PrimExpr, stride: int, padding: int, reach: PrimExpr) -> PrimExpr:
    """The size of a transposed convolution: elements `stride` apart, each `reach` wide."""
    return simplify(O.add(O.subtract(O.multiply(O.subtract(size, 1), stride), padding), reach))


def conv1d_transpose_ncw(data: Tensor, kernel: Tensor, stride: Any, padding: Any,
                         out_dtype: object | None, output_padding: Any) -> Tensor:  # fmt: skip
    """conv_transpose in NCW."""
    return conv_transpose(data, kernel, stride, padding, output_padding, out_dtype=out_dtype)


def conv2d_transpose_nchw(data: Tensor, kernel: Tensor, strides: Any, padding: Any,
                          out_dtype: object | None, output_padding: Any) -> Tensor:  # fmt: skip
    """conv_transpose in NCHW."""
    return conv_transpose(data, kernel, strides, padding, output_padding, out_dtype=out_dtype)


def group_conv2d_transpose_nchw(data: Tensor, kernel: Tensor, stride: Any, padding: Any,
                                out_dtype: object | None, output_padding: Any,
                                groups: int) -> Tensor:  # fmt: skip
    """Grouped conv_transpose in NCHW."""
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, groups, out_dtype)
