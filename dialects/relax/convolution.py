"""Convolutions and transposed convolutions of one to three spatial dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, layouts, types
from relax_mlir.dialects.relax.spec import Infer, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir


def convolved_size(
    size: Dim, kernel: Dim, stride: int, padding: tuple[int, int], dilation: int
) -> Dim:
    """The number of positions of a dilated kernel on a padded dimension."""
    span = dim_algebra.add(dim_algebra.multiply(dim_algebra.subtract(kernel, 1), dilation), 1)
    room = dim_algebra.subtract(dim_algebra.add(size, sum(padding)), span)
    return dim_algebra.add(dim_algebra.floordiv(room, stride), 1)


def transposed_size(
    size: Dim, kernel: Dim, stride: int, padding: tuple[int, int], dilation: int, extra: int
) -> Dim:
    """The inverse of `convolved_size`; `extra` is the output padding."""
    span = dim_algebra.add(dim_algebra.multiply(dim_algebra.subtract(kernel, 1), dilation), 1)
    base = dim_algebra.multiply(dim_algebra.subtract(size, 1), stride)
    return dim_algebra.add(dim_algebra.add(base, span), extra - sum(padding))


def _check_channels(
    data: dict[str, Dim], weight: dict[str, Dim], groups: int, transposed: bool, kinds: Any
) -> None:
    """The kernel's input channels are those of the data, by groups."""
    inside = weight["I"] if transposed else dim_algebra.multiply(weight["I"], groups)
    if dim_algebra.differ(data["C"], inside):
        raise InferError(
            f"{data['C']} channels do not fit a kernel for {inside}: "
            f"{types.describe(kinds[0])} and {types.describe(kinds[1])}"
        )
    divided = weight["I"] if transposed else weight["O"]
    if groups < 1 or (isinstance(divided, int) and divided % groups):
        raise InferError(f"{divided} channels do not divide into {groups} groups")


def _operands(
    kinds: Sequence[ir.Type], attributes: Mapping[str, Any], spatial: str
) -> tuple[TensorInfo, TensorInfo, str, str, str, str | None]:
    data, weight = infer.tensor(kinds[0], "data"), infer.tensor(kinds[1], "weight")
    layout = layouts.check(attributes["data_layout"], "NC" + spatial, "data_layout")
    kernel_layout = layouts.check(attributes["kernel_layout"], "OI" + spatial, "kernel_layout")
    out = attributes["out_layout"] or layout
    out_layout = layouts.check(out, "NC" + spatial, "out_layout")
    layouts.require_rank(data, layout, kinds[0], "data")
    layouts.require_rank(weight, kernel_layout, kinds[1], "weight")
    dtype = infer.dtype_attribute(attributes, "out_dtype")
    dtype = dtype or infer.same_dtype([data, weight], kinds)
    return data, weight, layout, kernel_layout, out_layout, dtype


def _convolution(ndim: int, transposed: bool) -> Infer:
    spatial = layouts.SPATIAL[ndim]

    def infer_type(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
        parts = _operands(kinds, attributes, spatial)
        data, weight, layout, kernel_layout, out_layout, dtype = parts
        strides = layouts.per_dimension(attributes["strides"], ndim, "strides")
        dilation = layouts.per_dimension(attributes["dilation"], ndim, "dilation")
        pads = layouts.padding_pairs(attributes["padding"], ndim)
        if min((*strides, *dilation)) < 1:
            raise InferError("strides and dilation must be positive")
        if data.dims is None or weight.dims is None:
            return TensorInfo(None, dtype, layouts.rank(out_layout)).to_type()
        sizes = layouts.sizes_of(data.dims, layout)
        kernel = layouts.sizes_of(weight.dims, kernel_layout)
        groups = attributes["groups"]
        _check_channels(sizes, kernel, groups, transposed, kinds)
        result: dict[str, Dim] = {"N": sizes["N"], "C": kernel["O"]}
        extra = (0,) * ndim
        if transposed:
            result["C"] = dim_algebra.multiply(kernel["O"], groups)
            extra = layouts.per_dimension(attributes["output_padding"], ndim, "output_padding")
        for i, axis in enumerate(spatial):
            common = (sizes[axis], kernel[axis], strides[i], pads[i], dilation[i])
            result[axis] = (
                transposed_size(*common, extra[i]) if transposed else convolved_size(*common)
            )
            if isinstance(result[axis], int) and int(result[axis]) < 1:
                raise InferError(
                    f"the kernel is larger than the padded data: {types.describe(kinds[0])} and "
                    f"{types.describe(kinds[1])}"
                )
        return TensorInfo(layouts.dims_of(result, out_layout), dtype).to_type()

    return infer_type


for _ndim, _spatial in layouts.SPATIAL.items():
    _tail: dict[str, Any] = {"out_layout": None, "out_dtype": None}
    _one, _zero = [1] * _ndim, [0] * _ndim
    define(
        f"nn.conv{_ndim}d",
        ["data", "weight"],
        _convolution(_ndim, False),
        {
            "strides": _one,
            "padding": _zero,
            "dilation": _one,
            "groups": 1,
            "data_layout": "NC" + _spatial,
            "kernel_layout": "OI" + _spatial,
            **_tail,
        },
        doc=f"Convolution over {_ndim} spatial dimensions.",
    )
    define(
        f"nn.conv{_ndim}d_transpose",
        ["data", "weight"],
        _convolution(_ndim, True),
        {
            "strides": _one,
            "padding": _zero,
            "output_padding": _zero,
            "dilation": _one,
            "groups": 1,
            "data_layout": "NC" + _spatial,
            "kernel_layout": "IO" + _spatial,
            **_tail,
        },
        doc=f"The gradient of conv{_ndim}d with respect to its data.",
    )
