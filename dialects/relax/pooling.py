"""Pooling, padding and other operators on images and sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, layouts, types
from relax_mlir.dialects.relax.spec import REQUIRED, Infer, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]
PAD_MODES = ("constant", "reflect", "replicate", "circular")


def pooled_size(
    size: Dim, window: Dim, stride: int, padding: tuple[int, int], dilation: int, ceil_mode: bool
) -> Dim:
    """The number of windows on a padded dimension; with ceil_mode the last one may reach out."""
    reach = dim_algebra.multiply(dim_algebra.subtract(window, 1), dilation)
    room = dim_algebra.subtract(dim_algebra.add(size, sum(padding) - 1), reach)
    divide = dim_algebra.ceildiv if ceil_mode else dim_algebra.floordiv
    count = dim_algebra.add(divide(room, stride), 1)
    static = isinstance(count, int) and isinstance(size, int)
    if ceil_mode and static and (int(count) - 1) * stride >= int(size) + padding[0]:
        return int(count) - 1  # the last window would start in the padding after the data
    return count


def _layout(info: TensorInfo, kind: ir.Type, attributes: Attributes, ndim: int) -> tuple[str, str]:
    letters = "NC" + layouts.SPATIAL[ndim]
    layout = layouts.check(attributes["layout"], letters, "layout")
    out_layout = layouts.check(attributes["out_layout"] or layout, letters, "out_layout")
    layouts.require_rank(info, layout, kind, "data")
    return layout, out_layout


def _pool(ndim: int) -> Infer:
    spatial = layouts.SPATIAL[ndim]

    def infer_type(kinds: Kinds, attributes: Attributes) -> ir.Type:
        info = infer.tensor(kinds[0], "data")
        layout, out_layout = _layout(info, kinds[0], attributes, ndim)
        windows = layouts.per_dimension(attributes["pool_size"], ndim, "pool_size")
        strides = layouts.per_dimension(attributes["strides"], ndim, "strides")
        dilation = layouts.per_dimension(attributes["dilation"], ndim, "dilation")
        pads = layouts.padding_pairs(attributes["padding"], ndim)
        if any(isinstance(n, int) and n < 1 for n in (*windows, *strides, *dilation)):
            raise InferError("pool_size, strides and dilation must be positive")
        if info.dims is None:
            return info.with_dims(None, layouts.rank(out_layout)).to_type()
        sizes = layouts.sizes_of(info.dims, layout)
        for i, axis in enumerate(spatial):
            size = pooled_size(
                sizes[axis], windows[i], strides[i], pads[i], dilation[i], attributes["ceil_mode"]
            )
            if isinstance(size, int) and size < 1:
                raise InferError(
                    f"the window is larger than the padded data: {types.describe(kinds[0])}"
                )
            sizes[axis] = size
        return info.with_dims(layouts.dims_of(sizes, out_layout)).to_type()

    return infer_type


def _adaptive_pool(ndim: int) -> Infer:
    spatial = layouts.SPATIAL[ndim]

    def infer_type(kinds: Kinds, attributes: Attributes) -> ir.Type:
        info = infer.tensor(kinds[0], "data")
        layout, out_layout = _layout(info, kinds[0], attributes, ndim)
        if info.dims is None:
            return info.with_dims(None, layouts.rank(out_layout)).to_type()
        sizes = layouts.sizes_of(info.dims, layout)
        if attributes["output_size"] is not None:
            wanted = layouts.per_dimension(attributes["output_size"], ndim, "output_size")
            sizes.update(zip(spatial, wanted, strict=True))
        return info.with_dims(layouts.dims_of(sizes, out_layout)).to_type()

    return infer_type


def _pad(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "data")
    widths, mode = attributes["pad_width"], attributes["pad_mode"] or "constant"
    if mode not in PAD_MODES:
        raise InferError(f"pad_mode '{mode}' is none of {', '.join(PAD_MODES)}")
    if info.ndim >= 0 and len(widths) != 2 * info.ndim:
        raise InferError(f"pad_width has {len(widths)} entries for {types.describe(kinds[0])}")
    if info.dims is None:
        return info.to_type()
    return info.with_dims(
        dim_algebra.add(dim, widths[2 * i] + widths[2 * i + 1]) for i, dim in enumerate(info.dims)
    ).to_type()


def _pixel_shuffle(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "data")
    factor = attributes["upscale_factor"]
    if factor < 1 or 0 <= info.ndim < 3:
        raise InferError(f"needs rank three or more, got {types.describe(kinds[0])}")
    if info.dims is None:
        return info.to_type()
    *batch, channels, height, width = info.dims
    if isinstance(channels, int) and channels % factor**2:
        raise InferError(f"{channels} channels do not divide by {factor}^2")
    return info.with_dims(
        [
            *batch,
            dim_algebra.exact_divide(channels, factor**2),
            dim_algebra.multiply(height, factor),
            dim_algebra.multiply(width, factor),
        ]
    ).to_type()


for _ndim, _spatial in layouts.SPATIAL.items():
    _one, _zero = [1] * _ndim, [0] * _ndim
    for _kind, _counted in (("max", False), ("avg", _ndim != 2)):
        define(
            f"nn.{_kind}_pool{_ndim}d",
            ["data"],
            _pool(_ndim),
            {
                "pool_size": _one,
                "strides": _one,
                "padding": _zero,
                "dilation": _one,
                "ceil_mode": False,
                "count_include_pad": _counted,
                "layout": "NC" + _spatial,
                "out_layout": None,
            },
            doc=f"The {_kind} of every window of {_ndim} spatial dimensions.",
        )
    define(
        f"nn.adaptive_avg_pool{_ndim}d",
        ["data"],
        _adaptive_pool(_ndim),
        {"output_size": None, "layout": "NC" + _spatial, "out_layout": None},
        doc="The mean of the windows that divide the data into output_size parts.",
    )

define(
    "nn.pad",
    ["data"],
    _pad,
    {"pad_width": REQUIRED, "pad_mode": "constant", "pad_value": 0.0},
    doc="Add elements before and after each dimension: pad_width is (before, after) of each.",
)
define(
    "nn.pixel_shuffle",
    ["data"],
    _pixel_shuffle,
    {"upscale_factor": REQUIRED},
    doc="Move channels into blocks of upscale_factor^2 pixels.",
)
