"""Legalisation of resize2d, resize3d, affine_grid and grid_sample."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from relax_mlir import te
from relax_mlir.dialects.relax import layouts
from relax_mlir.lowering.relax_to_tir.convolution import by_letter
from relax_mlir.lowering.relax_to_tir.rows import Result, legalize
from relax_mlir.tir import operators as O

_ROUND: dict[str, Callable[[Any], Any]] = {
    "round": lambda x: te.floor(x + 0.5),
    "round_prefer_floor": lambda x: te.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: te.floor(x + 0.5),
    "floor": te.floor,
    "ceil": te.ceil,
}


def _source(i: Any, size: Any, wanted: Any, mode: str) -> Any:
    """The coordinate in the data, a float, of an index of the result."""
    at, full, new = (v.astype("float32") for v in (i, size, wanted))
    if mode == "align_corners":
        return te.if_then_else(wanted > 1, at * ((full - 1.0) / O.max(new - 1.0, 1.0)), 0.0)
    if mode == "asymmetric":
        return at * (full / new)
    centred = (at + 0.5) * (full / new) - 0.5
    if mode == "pytorch_half_pixel":
        return te.if_then_else(wanted > 1, centred, 0.0)
    return centred


def _clamp(index: Any, size: Any) -> Any:
    return O.max(O.min(index, size - 1), te.const(0, "int64"))


def _taps(x: Any, size: Any, method: str, rounding: str, alpha: float) -> list[tuple[Any, Any]]:
    """(index, weight) of the elements that a coordinate mixes along one dimension."""
    if method == "nearest_neighbor":
        rounded = _ROUND[rounding or "round"](x)
        return [(_clamp(rounded.astype("int64"), size), None)]
    low = te.floor(x)
    part, first = x - low, low.astype("int64")
    if method == "linear":
        return [(_clamp(first, size), 1.0 - part), (_clamp(first + 1, size), part)]
    return [
        (_clamp(first + offset, size), weight)
        for offset, weight in zip((-1, 0, 1, 2), _cubic(part, alpha), strict=True)
    ]


def _cubic(t: Any, a: float) -> list[Any]:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""
    near = lambda d: ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0  # noqa: E731
    far = lambda d: ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a  # noqa: E731
    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _resize(ndim: int) -> Callable[..., te.Tensor]:
    spatial = layouts.SPATIAL[ndim]

    def row(
        x: te.Tensor,
        size: Any,
        *,
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        result: Result,
        **_: Any,
    ) -> te.Tensor:
        sizes, wanted = by_letter(x.shape, layout), by_letter(result.shape, layout)

        def compute(*indices: Any) -> Any:
            out = by_letter(indices, layout)
            along = []
            for s in spatial:
                at = _source(out[s], sizes[s], wanted[s], coordinate_transformation_mode)
                along.append(_taps(at, sizes[s], method, rounding_method, cubic_alpha))
            total: Any = None
            for taps in itertools.product(*along):
                place = dict(zip(spatial, (index for index, _ in taps), strict=True))
                value = x(*[place.get(letter, out[letter]) for letter in layout])
                if method == "nearest_neighbor":
                    return value.astype(result.dtype)
                value = value.astype("float32")
                for _, weight in taps:
                    value = value * weight
                total = value if total is None else total + value
            return total.astype(result.dtype)

        return te.compute(result.shape, compute, name="resize")

    return row


for _ndim in (2, 3):
    legalize(f"image.resize{_ndim}d", result=True)(_resize(_ndim))


@legalize("image.affine_grid", result=True)
def _affine_grid(
    matrices: te.Tensor, size: Any, *, align_corners: bool, result: Result
) -> te.Tensor:
    def coordinate(i: Any, count: Any) -> Any:
        at, full = i.astype(result.dtype), count.astype(result.dtype)
        if align_corners:
            return at * 2.0 / O.max(full - 1.0, te.const(1, result.dtype)) - 1.0
        return (at * 2.0 + 1.0) / full - 1.0

    def compute(b: Any, d: Any, i: Any, j: Any) -> Any:
        x, y = coordinate(j, result.shape[3]), coordinate(i, result.shape[2])
        return matrices(b, d, 0) * x + matrices(b, d, 1) * y + matrices(b, d, 2)

    return te.compute(result.shape, compute, name="affine_grid")


def _reflected(index: Any, size: Any, align_corners: bool) -> Any:
    """An index mirrored at the first and last element, or at their outer edges."""
    period = O.max(2 * size - 2, te.const(1, "int64")) if align_corners else 2 * size
    folded = te.floormod(index, period)
    last = period - folded if align_corners else period - 1 - folded
    return _clamp(O.min(folded, last), size)


@legalize("image.grid_sample", result=True)
def _grid_sample(
    data: te.Tensor,
    grid: te.Tensor,
    *,
    method: str,
    layout: str,
    padding_mode: str,
    align_corners: bool,
    result: Result,
) -> te.Tensor:
    height, width = data.shape[2], data.shape[3]

    def pixel(coordinate: Any, size: Any) -> Any:
        full = size.astype("float32")
        at = coordinate.astype("float32") + 1.0
        at = at * (full - 1.0) / 2.0 if align_corners else (at * full - 1.0) / 2.0
        # Far outside all is the same, and every integer type can hold it.
        return O.max(O.min(at, te.const(1e6, "float32")), te.const(-1e6, "float32"))

    def read(n: Any, c: Any, y: Any, x: Any) -> Any:
        if padding_mode == "reflection":
            y, x = _reflected(y, height, align_corners), _reflected(x, width, align_corners)
        value = data(n, c, _clamp(y, height), _clamp(x, width)).astype("float32")
        if padding_mode != "zeros":
            return value
        inside = te.all(y >= 0, y < height, x >= 0, x < width)
        return te.if_then_else(inside, value, te.const(0, "float32"))

    def taps(at: Any) -> list[tuple[Any, Any]]:
        if method == "nearest":
            return [(te.nearbyint(at).astype("int64"), None)]
        low = te.floor(at)
        part, first = at - low, low.astype("int64")
        if method == "bilinear":
            return [(first, 1.0 - part), (first + 1, part)]
        weights = zip((-1, 0, 1, 2), _cubic(part, -0.75), strict=True)
        return [(first + offset, weight) for offset, weight in weights]

    def compute(n: Any, c: Any, i: Any, j: Any) -> Any:
        total: Any = None
        rows = taps(pixel(grid(n, 1, i, j), height))
        columns = taps(pixel(grid(n, 0, i, j), width))
        for (y, row), (x, column) in itertools.product(rows, columns):
            value = read(n, c, y, x)
            value = value if row is None else value * row * column
            total = value if total is None else total + value
        return total.astype(result.dtype)

    return te.compute(result.shape, compute, name="grid_sample")
