"""Converters that read at computed places between elements: volumes and deformed kernels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.ops_convolution import padding, spatial, with_bias


def _reflected(node: Node, places: Any, low: float, high: float) -> Any:
    """Places outside low..high mirrored into it."""
    ops, like = node.ops, places
    span = node.like(high - low, like)
    distance = ops.abs(ops.subtract(places, node.like(low, like)))
    period = node.like(2 * (high - low), like)
    turns = ops.floor(ops.divide(distance, period))
    rest = ops.subtract(distance, ops.multiply(turns, period))
    folded = ops.where(ops.greater(rest, span), ops.subtract(period, rest), rest)
    return ops.add(folded, node.like(low, like))


def _cut(node: Node, places: Any, low: float, high: float) -> Any:
    return node.ops.minimum(
        node.ops.maximum(places, node.like(low, places)), node.like(high, places)
    )


def _taps(node: Node, places: Any, size: int, linear: bool) -> list[tuple[Any, Any]]:
    """Indices and weights along one axis; the weight is 0 outside."""
    ops, like = node.ops, places
    first = ops.floor(places) if linear else ops.round(places)
    part = ops.subtract(places, first)
    one = node.like(1, like)
    weights = [ops.subtract(one, part), part] if linear else [ops.ones_like(places)]
    taps = []
    for offset, weight in enumerate(weights):
        index = ops.add(first, node.like(offset, like))
        inside = ops.logical_and(
            ops.greater_equal(index, node.like(0, like)),
            ops.less_equal(index, node.like(size - 1, like)),
        )
        safe = node.cast(_cut(node, index, 0, size - 1), "int64")
        taps.append((safe, ops.where(inside, weight, ops.zeros_like(places))))
    return taps


def _sampled(node: Node, x: Any, places: Sequence[Any], linear: bool) -> Any:
    """x (N, C, sizes) read at places (N, ...), one tensor an axis: (N, ..., C)."""
    ops = node.ops
    count, _, *sizes = node.static_shape(x)
    rank = node.rank(places[0])
    turned = node.permute(x, [0, *range(2, node.rank(x)), 1])
    rows = node.const(np.arange(count).reshape([count, *[1] * (rank - 1)]), "int64")
    axes = [_taps(node, p, size, linear) for p, size in zip(places, sizes, strict=True)]
    total: Any = None
    for corner in itertools.product(*axes):
        weight = corner[0][1]
        for _, other in corner[1:]:
            weight = ops.multiply(weight, other)
        picked = ops.index_tensor(turned, [rows, *(index for index, _ in corner)])
        part = ops.multiply(picked, ops.expand_dims(weight, axis=[rank]))
        total = part if total is None else ops.add(total, part)
    return total


def grid_sample_volume(node: Node, x: Any, grid: Any) -> Any:
    """GridSample over three axes; the grid's last axis has x, y and z within -1..1."""
    mode = node.attr("mode", "linear")
    if mode not in ("linear", "bilinear", "nearest"):
        node.refuse(f"mode '{mode}' over three axes")
    align, outside = bool(node.attr("align_corners", 0)), node.attr("padding_mode", "zeros")
    ops = node.ops
    _, _, *sizes = node.static_shape(x)
    places = []
    for axis, size in enumerate(sizes):
        unit = node.slice(grid, 4, 2 - axis, 3 - axis, squeeze=True)
        shifted = ops.add(unit, node.like(1, unit))
        if align:
            place = ops.multiply(shifted, node.like((size - 1) / 2, unit))
        else:
            scaled = ops.multiply(shifted, node.like(size, unit))
            place = ops.multiply(ops.subtract(scaled, node.like(1, unit)), node.like(0.5, unit))
        if outside == "reflection":
            low, high = (0, size - 1) if align else (-0.5, size - 0.5)
            place = _reflected(node, place, low, high) if high > low else ops.zeros_like(place)
        if outside != "zeros":
            place = _cut(node, place, 0, size - 1)
        places.append(place)
    return node.permute(_sampled(node, x, places, mode != "nearest"), [0, 4, 1, 2, 3])


def deform_conv(node: Node) -> Any:
    """A convolution whose kernel reads at shifted places, and perhaps weighs them."""
    x, weight, offset = (node.tensor(i) for i in range(3))
    mask, ops = node.optional(4), node.ops
    batch, channels, *sizes = node.static_shape(x)
    filters, _, *kernel = node.static_shape(weight)
    groups, parts = node.attr("group", 1), node.attr("offset_group", 1)
    if len(kernel) != 2:
        node.refuse(f"{len(kernel)} spatial axes")
    strides, dilations = spatial(node, "strides", 2), spatial(node, "dilations", 2)
    pads = padding(node, sizes, kernel, strides, dilations)
    out = node.static_shape(offset)[2:]
    taps = kernel[0] * kernel[1]
    shifts = node.reshape(offset, [batch * parts, taps, 2, *out])
    places = []
    for axis in range(2):
        start = np.arange(out[axis]) * strides[axis] - pads[axis]
        inner = np.arange(kernel[axis]) * dilations[axis]
        shape = [1, *(kernel[i] if i == axis else 1 for i in range(2)), 1, 1]
        outer = [1, 1, 1, -1, 1] if axis == 0 else [1, 1, 1, 1, -1]
        regular = inner.reshape(shape) + start.reshape(outer)
        regular = np.broadcast_to(regular, [1, *kernel, *out]).reshape([1, taps, *out])
        moved = node.slice(shifts, 2, axis, axis + 1, squeeze=True)
        places.append(ops.add(moved, node.const(regular, node.dtype(x))))
    image = node.reshape(x, [batch * parts, channels // parts, *sizes])
    columns = _sampled(node, image, places, True)  # batch * parts, taps, *out, channels
    if mask is not None:
        ratio = node.reshape(mask, [batch * parts, taps, *out, 1])
        columns = ops.multiply(columns, ratio)
    columns = node.permute(columns, [0, 4, 1, 2, 3])
    rows = channels // groups * taps
    columns = node.reshape(columns, [batch, groups, rows, out[0] * out[1]])
    kernels = node.reshape(weight, [1, groups, filters // groups, rows])
    result = node.reshape(ops.matmul(kernels, columns), [batch, filters, *out])
    return with_bias(node, result, node.optional(3))


CONVERTERS: dict[str, Row] = {"DeformConv": deform_conv}
"""By operator; see `node.Row`."""
