"""Converters for the gradients of operators, which exported training steps contain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_of
from relax_mlir.relax.frontend.torch.ops_conv import convolution_nd, per_axis

_SPATIAL_START = 2
"""Images are [batch, channels, spatial...]."""


def _wanted(mask: Sequence[bool], gradients: Sequence[Any]) -> list[Any]:
    """The gradients that are asked for, None for the others."""
    return [make() if asked else None for asked, make in zip(mask, gradients, strict=True)]


def _static_sizes(imp: Importer, x: Any, what: str) -> list[int]:
    sizes = imp.shape_of(x)
    if not all(isinstance(size, int) for size in sizes):
        raise Error(f"{what} of a tensor of sizes {sizes}: export it with fixed ones")
    return sizes


# -- convolutions -------------------------------------------------------------------------------


def convolution_backward(
    imp: Importer,
    gradient: Any,
    x: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    mask: Sequence[bool],
) -> Any:
    """With respect to the data, the kernel and the bias."""
    ndim = imp.ndim(weight) - _SPATIAL_START
    window = [per_axis(value, ndim) for value in (stride, padding, dilation)]

    def of_data() -> Any:
        if transposed:
            steps, pads, holes = window
            return imp.emit(convolution_nd(imp, gradient, weight, None, steps, pads, holes, groups))
        return _gradient_of_data(imp, gradient, x, weight, window, groups)

    def of_kernel() -> Any:
        data, kernel = (gradient, x) if transposed else (x, gradient)
        sizes = imp.shape_of(weight)[_SPATIAL_START:]
        return _gradient_of_kernel(imp, data, kernel, sizes, window, groups)

    def of_bias() -> Any:
        axes = [0, *range(_SPATIAL_START, ndim + _SPATIAL_START)]
        return imp.emit(imp.op.sum(gradient, axis=axes))

    return _wanted(mask, [of_data, of_kernel, of_bias])


def _gradient_of_data(
    imp: Importer, gradient: Any, x: Any, weight: Any, window: list[list[int]], groups: int
) -> Any:
    """A transposed convolution, with as much added at the end as the strides left unread."""
    stride, padding, dilation = window
    ndim = len(stride)
    shapes = (imp.shape_of(v)[_SPATIAL_START:] for v in (x, gradient, weight))
    rest = [
        size - ((out - 1) * step - 2 * pad + hole * (extent - 1) + 1)
        for size, out, extent, step, pad, hole in zip(
            *shapes, stride, padding, dilation, strict=True
        )
    ]
    transposed = getattr(imp.op.nn, f"conv{ndim}d_transpose")
    return imp.emit(
        transposed(
            gradient,
            weight,
            strides=stride,
            padding=padding,
            output_padding=rest,
            dilation=dilation,
            groups=groups,
        )
    )


def _gradient_of_kernel(
    imp: Importer, data: Any, kernel: Any, sizes: Sequence[int], window: Any, groups: int
) -> Any:
    """A convolution whose batch are the data's channels and whose channels are the batch: strides
    and dilation change places."""
    stride, padding, dilation = window
    ndim = len(stride)
    spatial = list(range(_SPATIAL_START, ndim + _SPATIAL_START))
    batch, channels, *extents = imp.shape_of(data)
    apart = imp.op.reshape(data, [batch, groups, channels // groups, *extents])
    turned = imp.permute(imp.emit(apart), [2, 1, 0, *(axis + 1 for axis in spatial)])
    turned = imp.emit(imp.op.reshape(turned, [channels // groups, groups * batch, *extents]))
    filters = imp.permute(kernel, [1, 0, *spatial])
    result = imp.emit(convolution_nd(imp, turned, filters, None, dilation, padding, stride, groups))
    zeros = [0] * ndim
    kept = imp.op.strided_slice(result, spatial, zeros, list(sizes), [1] * ndim)
    return imp.permute(imp.emit(kept), [1, 0, *spatial])


# -- pooling ------------------------------------------------------------------------------------


def max_pool2d_backward(
    imp: Importer, gradient: Any, x: Any, *window: Any, indices: Any = None
) -> Any:
    """Each gradient goes to where its window's maximum was found."""
    places = window[-1] if indices is None else indices
    *outer, height, width = _static_sizes(imp, x, "the gradient of max_pool2d")
    count = math.prod(imp.shape_of(gradient)[-2:])
    zeros = imp.emit(imp.op.zeros([*outer, height * width], dtype_of(x)))
    flat = [imp.emit(imp.op.reshape(v, [*outer, count])) for v in (places, gradient)]
    summed = imp.op.scatter_elements(zeros, *flat, axis=-1, reduction="add")
    return imp.op.reshape(imp.emit(summed), imp.shape_of(x))


def avg_pool2d_backward(
    imp: Importer,
    gradient: Any,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Any:
    sizes = _static_sizes(imp, x, "the gradient of avg_pool2d")[-2:]
    outputs = imp.shape_of(gradient)[-2:]
    kernel = per_axis(kernel_size, 2)
    steps = per_axis(stride, 2) if stride else kernel
    pads = per_axis(padding, 2)
    matrices = []
    for size, count, extent, step, pad in zip(sizes, outputs, kernel, steps, pads, strict=True):
        begin = np.arange(count) * step - pad
        end = np.minimum(begin + extent, size + pad)
        inside = np.maximum(begin, 0), np.minimum(end, size)
        counted = (begin, end) if count_include_pad else inside
        matrices.append(_averages(size, *inside, counted[1] - counted[0]))
    if divisor_override is not None:
        matrices = [matrix > 0 for matrix in matrices]
        matrices[0] = matrices[0] / divisor_override
    return _unpooled(imp, gradient, matrices)


def adaptive_avg_pool2d_backward(imp: Importer, gradient: Any, x: Any) -> Any:
    sizes = _static_sizes(imp, x, "the gradient of adaptive_avg_pool2d")[-2:]
    matrices = []
    for size, count in zip(sizes, imp.shape_of(gradient)[-2:], strict=True):
        begin = np.arange(count) * size // count
        end = -(-(np.arange(count) + 1) * size // count)
        matrices.append(_averages(size, begin, end, end - begin))
    return _unpooled(imp, gradient, matrices)


def _averages(size: int, begin: Any, end: Any, counts: Any) -> np.ndarray:
    """The matrix [windows, size] that averages the elements from `begin` to `end`."""
    places = np.arange(size)
    inside = (places >= begin[:, None]) & (places < end[:, None])
    return inside / np.maximum(counts, 1)[:, None]


def _unpooled(imp: Importer, gradient: Any, matrices: Sequence[np.ndarray]) -> Any:
    """`rows^T gradient columns`: what averaging by both matrices is the transpose of."""
    dtype = dtype_of(gradient)
    rows, columns = (
        imp.relax.const(np.ascontiguousarray(matrix).astype(dtype))
        for matrix in (matrices[0].T, matrices[1])
    )
    return imp.op.matmul(imp.emit(imp.op.matmul(rows, gradient)), columns)


# -- normalisation ------------------------------------------------------------------------------


def layer_norm_backward(
    imp: Importer,
    gradient: Any,
    x: Any,
    normalized_shape: Sequence[int],
    mean: Any,
    deviation: Any,
    weight: Any,
    bias: Any,
    mask: Sequence[bool],
) -> Any:
    """`deviation` is the reciprocal of the standard deviation, as for the others here."""
    rank = imp.ndim(x)
    axes = list(range(rank - len(normalized_shape), rank))
    outer = list(range(rank - len(normalized_shape)))
    normal = _normalized(imp, x, mean, deviation)

    def of_data() -> Any:
        scaled = gradient if weight is None else imp.emit(imp.op.multiply(gradient, weight))
        return _centred(imp, scaled, normal, deviation, axes)

    def of_weight() -> Any:
        return _summed(imp, imp.emit(imp.op.multiply(gradient, normal)), outer)

    return _wanted(mask, [of_data, of_weight, lambda: _summed(imp, gradient, outer)])


def group_norm_backward(
    imp: Importer,
    gradient: Any,
    x: Any,
    mean: Any,
    deviation: Any,
    weight: Any,
    batch: int,
    channels: int,
    pixels: int,
    groups: int,
    mask: Sequence[bool],
) -> Any:
    grouped = [batch, groups, channels // groups, pixels]
    data, given = (imp.emit(imp.op.reshape(v, grouped)) for v in (x, gradient))
    mean, deviation = (
        imp.emit(imp.op.reshape(v, [batch, groups, 1, 1])) for v in (mean, deviation)
    )
    normal = _normalized(imp, data, mean, deviation)

    def of_data() -> Any:
        scaled = given
        if weight is not None:
            factors = imp.emit(imp.op.reshape(weight, [1, groups, channels // groups, 1]))
            scaled = imp.emit(imp.op.multiply(given, factors))
        result = _centred(imp, scaled, normal, deviation, [2, 3])
        return imp.emit(imp.op.reshape(result, imp.shape_of(x)))

    def of_channels(values: Any) -> Any:
        return imp.emit(imp.op.reshape(_summed(imp, values, [0, 3]), [channels]))

    def of_weight() -> Any:
        return of_channels(imp.emit(imp.op.multiply(given, normal)))

    return _wanted(mask, [of_data, of_weight, lambda: of_channels(given)])


def _normalized(imp: Importer, x: Any, mean: Any, deviation: Any) -> Any:
    return imp.emit(imp.op.multiply(imp.emit(imp.op.subtract(x, mean)), deviation))


def _centred(imp: Importer, gradient: Any, normal: Any, deviation: Any, axes: list[int]) -> Any:
    """The gradient less its mean and less what lies along the normalised data."""

    def average(values: Any) -> Any:
        return imp.emit(imp.op.mean(values, axis=axes, keepdims=True))

    along = average(imp.emit(imp.op.multiply(gradient, normal)))
    rest = imp.emit(imp.op.subtract(gradient, average(gradient)))
    rest = imp.emit(imp.op.subtract(rest, imp.emit(imp.op.multiply(normal, along))))
    return imp.emit(imp.op.multiply(rest, deviation))


def _summed(imp: Importer, x: Any, axes: list[int]) -> Any:
    return imp.emit(imp.op.sum(x, axis=axes)) if axes else x


# -- embeddings ---------------------------------------------------------------------------------


def embedding_backward(
    imp: Importer,
    gradient: Any,
    indices: Any,
    rows: int,
    padding_index: int = -1,
    scale_by_frequency: bool = False,
) -> Any:
    """The sum of the gradients at each row; those at the padding's count for nothing."""
    width = imp.shape_of(gradient)[-1]
    places = imp.emit(imp.op.reshape(imp.cast(indices, "int64"), [-1, 1]))
    given = imp.emit(imp.op.reshape(gradient, [-1, width]))
    if padding_index >= 0:
        padding = imp.emit(imp.op.equal(places, imp.scalar_like(padding_index, places)))
        given = imp.emit(imp.op.where(padding, imp.scalar_like(0.0, given), given))
    if scale_by_frequency:
        ones = imp.emit(imp.op.ones_like(imp.emit(imp.op.take(given, _zero(imp), axis=1))))
        none = imp.emit(imp.op.zeros([rows], dtype_of(given)))
        counts = imp.emit(imp.op.scatter_nd(none, places, ones, reduction="add"))
        own = imp.emit(imp.op.take(counts, places, axis=0))
        given = imp.emit(imp.op.divide(given, own))
    zeros = imp.emit(imp.op.zeros([rows, width], dtype_of(given)))
    return imp.op.scatter_nd(zeros, places, given, reduction="add")


def _zero(imp: Importer) -> Any:
    return imp.relax.const(0, "int64")


CONVERTERS: dict[str, Converter] = {
    "convolution_backward": convolution_backward,
    "max_pool2d_with_indices_backward": max_pool2d_backward,
    "avg_pool2d_backward": avg_pool2d_backward,
    "_adaptive_avg_pool2d_backward": adaptive_avg_pool2d_backward,
    "native_layer_norm_backward": layer_norm_backward,
    "native_group_norm_backward": group_norm_backward,
    "embedding_dense_backward": embedding_backward,
}
"""By the operator's name without namespace, overload and trailing underscore."""
