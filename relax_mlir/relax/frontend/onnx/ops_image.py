"""Converters for resampling: Resize, Upsample, GridSample, RoiAlign, AffineGrid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.ops_sampling import grid_sample_volume

Coordinates = Callable[[np.ndarray, int, float, float], np.ndarray]
"""(places in the output, input size, output size, scale) -> places in the input."""


def _half_pixel(places: np.ndarray, size: int, out: float, scale: float) -> np.ndarray:
    return (places + 0.5) / scale - 0.5


def _half_pixel_symmetric(places: np.ndarray, size: int, out: float, scale: float) -> np.ndarray:
    adjustment = out / (scale * size)
    centre = size / 2
    return centre * (1 - adjustment) + (places + 0.5) / scale - 0.5


def _align_corners(places: np.ndarray, size: int, out: float, scale: float) -> np.ndarray:
    exact = scale * size  # ONNX takes the length before it is rounded
    if exact <= 1:
        return np.zeros_like(places)
    return places * (size - 1) / (exact - 1)


_COORDINATES: dict[str, Coordinates] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": lambda p, n, out, s: _half_pixel(p, n, out, s) if out > 1 else p * 0.0,
    "align_corners": _align_corners,
    "asymmetric": lambda p, n, out, s: p / s,
    "tf_half_pixel_for_nn": lambda p, n, out, s: (p + 0.5) / s,
}


def _nearest(places: np.ndarray, mode: str) -> np.ndarray:
    return {
        "round_prefer_floor": lambda: np.ceil(places - 0.5),
        "round_prefer_ceil": lambda: np.floor(places + 0.5),
        "floor": lambda: np.floor(places),
        "ceil": lambda: np.ceil(places),
    }[mode]().astype("int64")


def _triangle(distance: np.ndarray, a: float) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' convolution kernel."""
    x = np.abs(distance)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


_KERNELS = {"linear": (_triangle, 1), "cubic": (_cubic, 2)}


def _taps(
    node: Node, places: np.ndarray, size: int, scale: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Which elements an output is made of and with what weight, one pair a tap."""
    kernel, radius = node.choice("mode", _KERNELS, "nearest")
    stretch = max(1.0, 1 / scale) if node.attr("antialias", 0) else 1.0
    reach = int(np.ceil(radius * stretch))
    first = np.floor(places).astype("int64") - reach + 1
    offsets = np.arange(2 * reach + (1 if stretch > 1 else 0))
    index = first[:, None] + offsets - (1 if stretch > 1 else 0)
    weights = kernel((index - places[:, None]) / stretch, node.attr("cubic_coeff_a", -0.75))
    if node.attr("exclude_outside", 0):
        weights = np.where((index < 0) | (index >= size), 0, weights)
    if stretch > 1 or node.attr("exclude_outside", 0):
        weights = weights / weights.sum(1, keepdims=True)
    index = np.clip(index, 0, size - 1)
    return [
        (index[:, tap], weights[:, tap]) for tap in range(index.shape[1]) if weights[:, tap].any()
    ]


def resize(node: Node) -> Any:
    """Axis by axis: every output element is a weighted sum of a few input elements."""
    x = node.tensor(0)
    rank = node.rank(x)
    axes = [node.axis(a, rank) for a in node.attr("axes") or range(rank)]
    roi = (
        node.array(1, "the region").reshape(-1)
        if node.has(1) and node.value(1).shape != (0,)
        else None
    )
    plan = _plan(node, x, axes)
    crop = node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
    dtype, outside = node.dtype(x), {}
    for i, axis in enumerate(axes):
        scale, out = plan[i]
        size = node.shape(x)[axis]
        if out == size and scale == 1 and not crop:
            continue
        if not isinstance(size, int):
            node.refuse(f"along the symbolic size {size}")
        places = _places(node, i, len(axes), size, _static(node, out), scale, roi)
        if crop:
            outside[axis] = (places < 0) | (places > size - 1)
        x = _resample(node, x, axis, places, size, scale)
    if any(mask.any() for mask in outside.values()):
        x = _extrapolated(node, x, outside)
    return node.cast(x, dtype)


def _places(
    node: Node, i: int, count: int, size: int, out: int, scale: float, roi: np.ndarray | None
) -> np.ndarray:
    default = "half_pixel" if node.op_type == "Resize" and node.version >= 11 else "asymmetric"
    mode = node.attr("coordinate_transformation_mode", default)
    row = np.arange(out, dtype="float64")
    if mode == "tf_crop_and_resize":
        if roi is None:
            node.refuse("tf_crop_and_resize without a region")
        start, end = float(roi[i]), float(roi[count + i])
        if out == 1:
            return np.array([0.5 * (start + end) * (size - 1)])
        return start * (size - 1) + row * (end - start) * (size - 1) / (out - 1)
    if mode not in _COORDINATES:
        node.refuse(f"coordinate_transformation_mode '{mode}' is not known")
    return _COORDINATES[mode](row, size, out, scale)


def _plan(node: Node, x: Any, axes: Sequence[int]) -> list[tuple[float, Dim]]:
    """Scale and output size of every axis, from sizes or scales."""
    shape = node.shape(x)
    if node.op_type == "Upsample":
        scales = node.attr("scales") or [float(v) for v in node.array(1, "the scales").reshape(-1)]
        return [
            (float(s), int(np.floor(_static(node, shape[a]) * s)))
            for s, a in zip(scales, axes, strict=True)
        ]
    scale_index = 2 if node.version >= 11 else 1
    if node.has(3):
        return _sized(node, shape, axes)
    scales = [float(v) for v in node.array(scale_index, "the scales").reshape(-1)]
    return [
        (s, shape[a]) if s == 1 else (s, int(np.floor(_static(node, shape[a]) * s)))
        for s, a in zip(scales, axes, strict=True)
    ]


def _sized(node: Node, shape: Sequence[Any], axes: Sequence[int]) -> list[tuple[float, Dim]]:
    wanted = node.dims(3, "the sizes")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return [
            (1.0, w)
            if w == shape[a]
            else (_static(node, w) / _static(node, shape[a]), _static(node, w))
            for w, a in zip(wanted, axes, strict=True)
        ]
    ratios = [_static(node, w) / _static(node, shape[a]) for w, a in zip(wanted, axes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(scale, int(np.floor(scale * _static(node, shape[a]) + 0.5))) for a in axes]


def _static(node: Node, size: Any) -> int:
    if not isinstance(size, int):
        node.refuse(f"along the symbolic size {size}")
    return size


def _resample(node: Node, x: Any, axis: int, places: np.ndarray, size: int, scale: float) -> Any:
    ops = node.ops
    if node.attr("mode", "nearest") == "nearest":
        default = (
            "round_prefer_floor" if node.op_type == "Resize" and node.version >= 11 else "floor"
        )
        index = np.clip(_nearest(places, node.attr("nearest_mode", default)), 0, size - 1)
        return ops.take(x, node.const(index, "int64"), axis=axis)
    x = x if node.dtype(x) in ("float32", "float64") else node.cast(x, "float32")
    total = None
    for index, weights in _taps(node, places, size, scale):
        shape = [len(weights) if i == axis else 1 for i in range(node.rank(x))]
        part = ops.take(x, node.const(index, "int64"), axis=axis)
        part = ops.multiply(part, node.const(weights.reshape(shape), node.dtype(x)))
        total = part if total is None else ops.add(total, part)
    return total


def _extrapolated(node: Node, x: Any, outside: dict[int, np.ndarray]) -> Any:
    """Elements from outside the input get the extrapolation value."""
    rank = node.rank(x)
    mask = np.zeros([1] * rank, bool)
    for axis, row in outside.items():
        mask = mask | row.reshape([-1 if i == axis else 1 for i in range(rank)])
    value = node.like(node.attr("extrapolation_value", 0.0), x)
    return node.ops.where(node.const(mask), value, x)


def grid_sample(node: Node) -> Any:
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(
        node.attr("mode", "linear"), node.attr("mode", "linear")
    )
    x, grid = node.tensor(0), node.tensor(1)
    spatial = node.rank(x) - 2
    if spatial == 3:
        return grid_sample_volume(node, x, grid)
    if spatial != 2:
        node.refuse(f"{spatial} spatial axes")
    grid = node.permute(grid, [0, 3, 1, 2])  # Relax has the coordinates in front
    return node.ops.image.grid_sample(
        x,
        grid,
        method=mode,
        layout="NCHW",
        padding_mode=node.attr("padding_mode", "zeros"),
        align_corners=bool(node.attr("align_corners", 0)),
    )


def roi_align(node: Node) -> Any:
    """The mean (or maximum) of bilinear samples in every cell of a region."""
    x, rois, batch = node.tensor(0), node.tensor(1), node.tensor(2)
    ops = node.ops
    samples = node.attr("sampling_ratio", 0)
    if samples <= 0:
        node.refuse("sampling_ratio 0 makes the number of samples depend on the regions")
    out = [node.attr("output_height", 1), node.attr("output_width", 1)]
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    half = node.attr("coordinate_transformation_mode", default) == "half_pixel"
    sizes = node.static_shape(x)[2:]
    count = node.shape(rois)[0]
    axes = [
        _samples(node, rois, count, 1 - i, out[i], samples, half) for i in range(2)
    ]  # each (regions, cells * samples)
    image = ops.take(node.permute(x, [0, 2, 3, 1]), node.cast(batch, "int64"), axis=0)
    total: Any = None
    rows, columns = (
        _neighbours(node, places, size) for places, size in zip(axes, sizes, strict=True)
    )
    maximum = node.attr("mode", "avg") == "max"
    corners = []
    for y_index, y_weight in rows:
        for x_index, x_weight in columns:
            picked = _pick(node, image, y_index, x_index, count)
            weight = ops.multiply(
                ops.expand_dims(y_weight, axis=[2]), ops.expand_dims(x_weight, axis=[1])
            )
            corners.append(ops.multiply(picked, ops.expand_dims(weight, axis=[3])))
    for corner in corners:
        combine = ops.maximum if maximum else ops.add
        total = corner if total is None else combine(total, corner)
    channels = node.shape(x)[1]
    cells = node.reshape(total, [count, out[0], samples, out[1], samples, channels])
    reduced = (ops.max if maximum else ops.mean)(cells, axis=[2, 4], keepdims=False)
    return node.permute(reduced, [0, 3, 1, 2])


def _samples(
    node: Node, rois: Any, count: Any, at: int, cells: int, samples: int, half: bool
) -> Any:
    ops = node.ops
    scale, offset = node.attr("spatial_scale", 1.0), 0.5 if half else 0.0
    low, high = (
        ops.subtract(
            ops.multiply(node.slice(rois, 1, i, i + 1), node.like(scale, rois)),
            node.like(offset, rois),
        )
        for i in (at, at + 2)
    )
    extent = ops.subtract(high, low)
    if not half:
        extent = ops.maximum(extent, node.like(1, rois))
    steps = (np.arange(cells * samples) + 0.5) / (cells * samples)
    return ops.add(low, ops.multiply(extent, node.const(steps[None], node.dtype(rois))))


def _neighbours(node: Node, places: Any, size: int) -> list[tuple[Any, Any]]:
    """The two elements beside each place and their weights, 0 outside -1..size."""
    ops = node.ops
    like = places
    inside = ops.logical_and(
        ops.greater_equal(places, node.like(-1, like)),
        ops.less_equal(places, node.like(size, like)),
    )
    cut = ops.maximum(places, node.like(0, like))
    low = ops.minimum(ops.floor(cut), node.like(size - 1, like))
    high = ops.minimum(ops.add(low, node.like(1, like)), node.like(size - 1, like))
    last = ops.greater_equal(low, node.like(size - 1, like))
    part = ops.where(last, ops.zeros_like(cut), ops.subtract(cut, low))
    zero = ops.zeros_like(cut)
    weights = (ops.subtract(node.like(1, like), part), part)
    return [
        (node.cast(index, "int64"), ops.where(inside, weight, zero))
        for index, weight in zip((low, high), weights, strict=True)
    ]


def _pick(node: Node, image: Any, rows: Any, columns: Any, count: Any) -> Any:
    """image[region, rows, columns] as (regions, rows, columns, channels)."""
    ops = node.ops
    first = ops.expand_dims(rows, axis=[2])
    second = ops.expand_dims(columns, axis=[1])
    region = ops.arange(0, node.importer.shape_expr([count])[0], 1, dtype="int64")
    return ops.index_tensor(image, [node.reshape(region, [count, 1, 1]), first, second])


CONVERTERS: dict[str, Row] = {
    "GridSample": grid_sample,
    "Resize": resize,
    "RoiAlign": roi_align,
    "Upsample": resize,
}
"""By operator; see `node.Row`."""
