"""Converters for convolutions, pooling and resizing of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer, Unavailable, dtype_of
from relax_mlir.relax.frontend.torch.ops_shape import as_list


def per_axis(value: Any, count: int) -> list[int]:
    """A number a spatial axis, from one for all or one for each."""
    values = as_list(value)
    return values * count if len(values) == 1 else values


def _batched(imp: Importer, x: Any, ndim: int, convert: Callable[[Any], Any]) -> Any:
    """PyTorch's layers also take a single image without the batch axis."""
    if imp.ndim(x) == ndim + 2:
        return convert(x)
    result = imp.emit(convert(imp.emit(imp.op.expand_dims(x, 0))))
    return imp.op.squeeze(result, [0])


def _biased(imp: Importer, result: Any, bias: Any, ndim: int) -> Any:
    if bias is None:
        return result
    shaped = imp.emit(imp.op.reshape(bias, [1, -1, *[1] * ndim]))
    return imp.op.add(imp.emit(result), shaped)


def _same_padding(kernel: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """The padding that keeps sizes; the odd element goes after."""
    totals = [hole * (size - 1) for size, hole in zip(kernel, dilation, strict=True)]
    return [*(t // 2 for t in totals), *(t - t // 2 for t in totals)]


def convolution_nd(
    imp: Importer,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    ndim = imp.ndim(weight) - 2
    holes = per_axis(dilation, ndim)
    if padding == "same":
        padding = _same_padding(imp.shape_of(weight)[2:], holes)
    elif padding == "valid":
        padding = 0

    def convert(data: Any) -> Any:
        result = getattr(imp.op.nn, f"conv{ndim}d")(
            data,
            weight,
            strides=per_axis(stride, ndim),
            padding=per_axis(padding, ndim),
            dilation=holes,
            groups=groups,
        )
        return _biased(imp, result, bias, ndim)

    return _batched(imp, x, ndim, convert)


def transposed_convolution_nd(
    imp: Importer,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    ndim = imp.ndim(weight) - 2

    def convert(data: Any) -> Any:
        result = getattr(imp.op.nn, f"conv{ndim}d_transpose")(
            data,
            weight,
            strides=per_axis(stride, ndim),
            padding=per_axis(padding, ndim),
            output_padding=per_axis(output_padding, ndim),
            dilation=per_axis(dilation, ndim),
            groups=groups,
        )
        return _biased(imp, result, bias, ndim)

    return _batched(imp, x, ndim, convert)


def convolution(
    imp: Importer,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *unused: Any,
) -> Any:
    if transposed:
        return transposed_convolution_nd(
            imp, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return convolution_nd(imp, x, weight, bias, stride, padding, dilation, groups)


# -- pooling -----------------------------------------------------------------------------------


def _max_pool(ndim: int) -> Converter:
    def convert(
        imp: Importer,
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        size = per_axis(kernel_size, ndim)
        pool = getattr(imp.op.nn, f"max_pool{ndim}d")
        strides = per_axis(stride, ndim) if stride else size
        window = [size, strides, per_axis(padding, ndim), per_axis(dilation, ndim)]
        values = imp.emit(_batched(imp, x, ndim, lambda data: pool(data, *window, ceil_mode)))
        if not return_indices:
            return values
        extents = imp.shape_of(values)[-ndim:]
        return [values, imp.block_builder.emit_te(_places_of_maxima, x, extents, *window)]

    return convert


def _places_of_maxima(
    data: Any,
    extents: Sequence[Any],
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Any:
    """Where each window's maximum is, in the image as a vector: the first one, or NaN."""
    from relax_mlir import te, tir

    ndim = len(kernel)
    outer, sizes = list(data.shape[:-ndim]), data.shape[-ndim:]
    axes = [te.reduce_axis((0, extent), name=f"k{i}") for i, extent in enumerate(kernel)]

    def better(x: Any, y: Any) -> Any:
        keeps = tir.any(x[1] >= y[1], te.isnan(x[1]), y[0] < 0)
        return tuple(te.if_then_else(keeps, a, b) for a, b in zip(x, y, strict=True))

    def nothing(position: str, dtype: str) -> Any:
        return tir.const(-1, position), te.min_value(dtype)

    reducer = te.comm_reducer(better, nothing, name="place_of_maximum")

    def element(*at: Any) -> Any:
        rows = zip(at[-ndim:], strides, axes, dilation, padding, strict=True)
        index = [place * step + k.var * hole - pad for place, step, k, hole, pad in rows]
        inside = [c >= 0 for c in index] + [c < n for c, n in zip(index, sizes, strict=True)]
        flat = index[0]
        for coordinate, size in zip(index[1:], sizes[1:], strict=True):
            flat = flat * size + coordinate
        valid = te.all(*inside)
        value = te.if_then_else(valid, data(*at[:-ndim], *index), te.min_value(data.dtype))
        position = te.if_then_else(valid, flat.astype("int64"), tir.const(-1, "int64"))
        return reducer((position, value), axis=axes)

    return te.compute([*outer, *extents], element, name="place_of_maximum")[0]


def _with_indices(pool: Converter) -> Converter:
    """(values, indices), the latter where the program reads them."""

    def convert(imp: Importer, *args: Any, **kwargs: Any) -> Any:
        if imp.reads_results(1):
            return pool(imp, *args, **kwargs, return_indices=True)
        return [imp.bind(pool(imp, *args, **kwargs)), Unavailable("the indices of the maxima")]

    return convert


def _avg_pool(ndim: int) -> Converter:
    def convert(
        imp: Importer,
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        size = per_axis(kernel_size, ndim)
        if divisor_override is not None:
            if ceil_mode:
                raise Error(f"avg_pool{ndim}d with divisor_override and ceil_mode")
            averages = convert(imp, x, kernel_size, stride, padding)
            factor = imp.scalar_like(math.prod(size) / divisor_override, x)
            return imp.op.multiply(imp.emit(averages), factor)
        if ceil_mode and _covers(imp.shape_of(x)[-ndim:], size, per_axis(padding, ndim)):
            return imp.op.mean(x, list(range(-ndim, 0)), keepdims=True)
        pool = getattr(imp.op.nn, f"avg_pool{ndim}d")
        return _batched(
            imp,
            x,
            ndim,
            lambda data: pool(
                data,
                size,
                per_axis(stride, ndim) if stride else size,
                per_axis(padding, ndim),
                [1] * ndim,
                ceil_mode,
                count_include_pad,
            ),
        )

    return convert


def _covers(sizes: list[Any], kernel: list[int], padding: list[int]) -> bool:
    """Whether one window has the whole image, which its size need not say: EfficientNet's is of as
    many pixels as there are channels."""
    return not any(padding) and all(
        isinstance(size, int) and size <= extent for size, extent in zip(sizes, kernel, strict=True)
    )


def _adaptive_avg_pool(ndim: int) -> Converter:
    def convert(imp: Importer, x: Any, output_size: Any) -> Any:
        wanted = _output_size(imp, x, output_size, ndim)
        pool = getattr(imp.op.nn, f"adaptive_avg_pool{ndim}d")
        return _batched(imp, x, ndim, lambda data: pool(data, wanted))

    return convert


def _output_size(imp: Importer, x: Any, output_size: Any, ndim: int) -> list[Any]:
    """None keeps the size of an axis."""
    wanted = [*as_list(output_size)] if output_size is not None else [None]
    wanted = wanted * ndim if len(wanted) == 1 else wanted
    own = imp.shape_of(x)[-ndim:]
    return [size if want is None else want for want, size in zip(wanted, own, strict=True)]


def _adaptive_max_pool(ndim: int) -> Converter:
    def convert(imp: Importer, x: Any, output_size: Any, return_indices: bool = False) -> Any:
        wanted = _output_size(imp, x, output_size, ndim)
        own = imp.shape_of(x)[-ndim:]
        if any(size % want for size, want in zip(own, wanted, strict=True)):
            raise Error(f"adaptive_max_pool{ndim}d of {own} to {wanted}: windows of unequal sizes")
        kernel = [size // want for size, want in zip(own, wanted, strict=True)]
        return _with_indices(_max_pool(ndim))(imp, x, kernel)

    return convert


# -- resizing ----------------------------------------------------------------------------------


def _resized(
    imp: Importer, x: Any, size: Any, factors: Any, method: str, align_corners: bool
) -> Any:
    own = imp.shape_of(x)[2:]
    if size is None:
        scales = per_axis(factors, len(own))
        size = [int(extent * factor) for extent, factor in zip(own, scales, strict=True)]
    size = per_axis(size, len(own))
    mode = "align_corners" if align_corners else "half_pixel"
    if method == "nearest_neighbor":
        mode = "asymmetric"
    options = {
        "method": method,
        "coordinate_transformation_mode": mode,
        "rounding_method": "floor" if method == "nearest_neighbor" else "",
    }
    if len(own) == 3:
        return imp.op.image.resize3d(x, size, layout="NCDHW", **options)
    if len(own) == 2:
        return imp.op.image.resize2d(x, size, layout="NCHW", **options)
    image = imp.emit(imp.op.expand_dims(x, 2))
    result = imp.op.image.resize2d(image, [1, *size], layout="NCHW", **options)
    return imp.op.squeeze(imp.emit(result), [2])


def _upsample_nearest(imp: Importer, x: Any, size: Any, *factors: Any, **kw: Any) -> Any:
    scale = kw.get("scale_factors", factors[0] if factors else None)
    return _resized(imp, x, size, scale, "nearest_neighbor", False)


def _upsample(method: str) -> Converter:
    def convert(
        imp: Importer, x: Any, size: Any, align_corners: bool = False, *factors: Any, **kw: Any
    ) -> Any:
        scale = kw.get("scale_factors", factors[0] if factors else None)
        return _resized(imp, x, size, scale, method, align_corners)

    return convert


_MODES = {
    "nearest": "nearest_neighbor",
    "linear": "linear",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


def interpolate(
    imp: Importer,
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    *unused: Any,
    **ignored: Any,
) -> Any:
    if mode not in _MODES:
        raise Error(f"interpolate with mode '{mode}' has no Relax operator")
    return _resized(imp, x, size, scale_factor, _MODES[mode], bool(align_corners))


_SAMPLING = ("bilinear", "nearest", "bicubic")
_PADDING = ("zeros", "border", "reflection")


def grid_sampler(
    imp: Importer,
    x: Any,
    grid: Any,
    mode: int | str = 0,
    padding: int | str = 0,
    align_corners: bool | None = False,
) -> Any:
    """The image at positions in [-1, 1]; PyTorch's grid has its two coordinates last."""
    return imp.op.image.grid_sample(
        x,
        imp.permute(grid, [0, 3, 1, 2]),
        method=mode if isinstance(mode, str) else _SAMPLING[mode],
        padding_mode=padding if isinstance(padding, str) else _PADDING[padding],
        align_corners=bool(align_corners),
    )


def col2im(
    imp: Importer,
    x: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """The sum of overlapping blocks: a transposed convolution by one kernel for each place."""
    ndim = 2
    kernel, holes = per_axis(kernel_size, ndim), per_axis(dilation, ndim)
    pads, steps = per_axis(padding, ndim), per_axis(stride, ndim)
    sizes = per_axis(output_size, ndim)
    reach = [hole * (extent - 1) + 1 for hole, extent in zip(holes, kernel, strict=True)]
    room = [size + 2 * pad - r for size, pad, r in zip(sizes, pads, reach, strict=True)]
    blocks = [free // step + 1 for free, step in zip(room, steps, strict=True)]
    places = math.prod(kernel)
    *batch, rows, _ = imp.shape_of(x)
    identity = np.tile(np.eye(places), (rows // places, 1)).reshape(rows, 1, *kernel)
    images = imp.emit(imp.op.reshape(x, [*(batch or [1]), rows, *blocks]))
    result = imp.op.nn.conv2d_transpose(
        images,
        imp.relax.const(identity.astype(dtype_of(x))),
        strides=steps,
        padding=pads,
        output_padding=[free % step for free, step in zip(room, steps, strict=True)],
        dilation=holes,
        groups=rows // places,
    )
    return result if batch else imp.op.squeeze(imp.emit(result), [0])


_DIMENSIONS = (1, 2, 3)

CONVERTERS: dict[str, Converter] = {
    "convolution": convolution,
    "_convolution": convolution,
    **{f"conv{n}d": convolution_nd for n in _DIMENSIONS},
    **{f"conv_transpose{n}d": transposed_convolution_nd for n in _DIMENSIONS},
    **{f"max_pool{n}d": _max_pool(n) for n in _DIMENSIONS},
    **{f"max_pool{n}d_with_indices": _with_indices(_max_pool(n)) for n in _DIMENSIONS},
    **{f"avg_pool{n}d": _avg_pool(n) for n in _DIMENSIONS},
    **{f"adaptive_avg_pool{n}d": _adaptive_avg_pool(n) for n in _DIMENSIONS},
    **{f"_adaptive_avg_pool{n}d": _adaptive_avg_pool(n) for n in _DIMENSIONS},
    **{f"adaptive_max_pool{n}d": _adaptive_max_pool(n) for n in _DIMENSIONS},
    **{f"upsample_nearest{n}d": _upsample_nearest for n in _DIMENSIONS},
    "upsample_linear1d": _upsample("linear"),
    "upsample_bilinear2d": _upsample("linear"),
    "upsample_trilinear3d": _upsample("linear"),
    "upsample_bicubic2d": _upsample("cubic"),
    "interpolate": interpolate,
    "col2im": col2im,
    "grid_sampler_2d": grid_sampler,
    "grid_sampler": grid_sampler,
    "grid_sample": grid_sampler,
}
"""By the operator's name without namespace, overload and trailing underscore."""
