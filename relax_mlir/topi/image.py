"""Operators on images: resizing, sampling at coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import max as te_max
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import int_list
from relax_mlir.topi.nn.conv import both_sides, per_axis
from relax_mlir.topi.nn.pad import pad
from relax_mlir.topi.transform import transpose

METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")

_ROUND: dict[str, Callable[[Any], Any]] = {
    "round": lambda x: I.floor(x + 0.5),
    "round_prefer_floor": lambda x: I.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: I.floor(x + 0.5),
    "floor": I.floor,
    "ceil": I.ceil,
}


def _source(i: Any, size: Any, wanted: Any, mode: str) -> Any:
    """The coordinate in the data, a float, of an index of the result."""
    at, full, new = (v.astype("float32") for v in (i, size, wanted))
    if mode == "align_corners":
        return I.if_then_else(wanted > 1, at * ((full - 1.0) / O.max(new - 1.0, 1.0)), 0.0)
    if mode == "asymmetric":
        return at * (full / new)
    centred = (at + 0.5) * (full / new) - 0.5
    if mode == "pytorch_half_pixel":
        return I.if_then_else(wanted > 1, centred, 0.0)
    return centred


def _clamp(index: Any, size: Any) -> Any:
    return O.max(O.min(index, size - 1), O.const(0, "int64"))


def _taps(x: Any, size: Any, method: str, rounding: str, alpha: float) -> list[tuple[Any, Any]]:
    """(index, weight) of the elements that a coordinate mixes along one dimension."""
    if method == "nearest_neighbor":
        rounded = _ROUND[rounding or "round"](x)
        return [(_clamp(rounded.astype("int64"), size), None)]
    low = I.floor(x)
    part, first = x - low, low.astype("int64")
    if method == "linear":
        return [(_clamp(first, size), 1.0 - part), (_clamp(first + 1, size), part)]
    return [
        (_clamp(first + offset, size), weight)
        for offset, weight in zip((-1, 0, 1, 2), _cubic(part, alpha), strict=True)
    ]


def _cubic(t: Any, a: float) -> list[Any]:
    """Keys, Cubic convolution interpolation for digital image processing, 1981."""

    def near(d: Any) -> Any:
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0

    def far(d: Any) -> Any:
        return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _one_of(value: str, allowed: Sequence[str], what: str) -> None:
    if value not in allowed:
        raise Error(f"{what} must be one of {', '.join(allowed)}, given {value!r}")


def _resize(
    data: Tensor,
    size: Any,
    letters: str,
    layout: str,
    method: str,
    mode: str,
    rounding: str,
    alpha: float,
    out_dtype: object | None,
) -> Tensor:
    _one_of(method, METHODS, "method")
    _one_of(mode, COORDINATES, "coordinate_transformation_mode")
    if sorted(layout) != sorted(f"NC{letters}") or len(layout) != data.ndim:
        raise Error(f"resize: {layout!r} is no layout of {data.ndim} axes with {letters}")
    given = list(size) if isinstance(size, (list, tuple)) else [size]
    if len(given) != len(letters):
        raise Error(f"resize: {len(letters)} sizes expected, given {size}")
    sizes = dict(zip(layout, data.shape, strict=True))
    target = {x: O.cast(sizes[x].dtype, as_expr(s)) for x, s in zip(letters, given, strict=True)}
    wanted = sizes | target
    dtype = data.dtype if out_dtype in (None, "", "void") else out_dtype

    def element(*indices: Any) -> PrimExpr:
        out = dict(zip(layout, indices, strict=True))
        along = []
        for s in letters:
            at = _source(out[s], sizes[s], wanted[s], mode)
            along.append(_taps(at, sizes[s], method, rounding, alpha))
        total: Any = None
        for taps in itertools.product(*along):
            place = dict(zip(letters, (index for index, _ in taps), strict=True))
            value = data(*[place.get(letter, out[letter]) for letter in layout])
            if method == "nearest_neighbor":
                return O.cast(dtype, value)
            value = value.astype("float32")
            for _, weight in taps:
                value = value * weight
            total = value if total is None else total + value
        return O.cast(dtype, total)

    return compute([wanted[x] for x in layout], element, "resize")


def resize1d(data: Tensor, roi: Any, size: Any, layout: str = "NCW", method: str = "linear",
             coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
             bicubic_alpha: float = -0.5, bicubic_exclude: int = 0,
             extrapolation_value: float = 0.0, out_dtype: object | None = None
             ) -> Tensor:  # fmt: skip
    """data resampled to another width.  `roi`, `bicubic_exclude` and `extrapolation_value` are
    accepted for TVM's sake; no coordinate mode here reads them."""
    return _resize(data, size, "W", layout, method, coordinate_transformation_mode,
                   rounding_method, bicubic_alpha, out_dtype)  # fmt: skip


def resize2d(data: Tensor, roi: Any, size: Any, layout: str = "NCHW", method: str = "linear",
             coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
             bicubic_alpha: float = -0.5, bicubic_exclude: int = 0,
             extrapolation_value: float = 0.0, out_dtype: object | None = None
             ) -> Tensor:  # fmt: skip
    """data resampled to another height and width; see resize1d."""
    return _resize(data, size, "HW", layout, method, coordinate_transformation_mode,
                   rounding_method, bicubic_alpha, out_dtype)  # fmt: skip


def resize3d(data: Tensor, roi: Any, size: Any, layout: str = "NCDHW", method: str = "linear",
             coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
             bicubic_alpha: float = -0.5, bicubic_exclude: int = 0,
             extrapolation_value: float = 0.0, out_dtype: object | None = None
             ) -> Tensor:  # fmt: skip
    """data resampled to another depth, height and width; see resize1d."""
    return _resize(data, size, "DHW", layout, method, coordinate_transformation_mode,
                   rounding_method, bicubic_alpha, out_dtype)  # fmt: skip


def affine_grid(data: Tensor, target_shape: Sequence[Any], align_corners: bool = True) -> Tensor:
    """The coordinates in [-1, 1] that 2 by 3 matrices (batch, 2, 3) map the pixels of an image of
    `target_shape` (height, width) to: (batch, 2, height, width), x before y."""
    dtype = data.dtype
    height, width = (O.cast(data.shape[0].dtype, as_expr(s)) for s in target_shape)

    def coordinate(i: Any, count: Any) -> Any:
        at, full = i.astype(dtype), count.astype(dtype)
        if align_corners:
            return at * 2.0 / O.max(full - 1.0, O.const(1, dtype)) - 1.0
        return (at * 2.0 + 1.0) / full - 1.0

    def element(b: Any, d: Any, i: Any, j: Any) -> Any:
        x, y = coordinate(j, width), coordinate(i, height)
        return data(b, d, 0) * x + data(b, d, 1) * y + data(b, d, 2)

    return compute([data.shape[0], 2, height, width], element, "affine_grid")


def _reflected(index: Any, size: Any, align_corners: bool) -> Any:
    """An index mirrored at the first and last element, or at their outer edges."""
    period = O.max(2 * size - 2, O.const(1, "int64")) if align_corners else 2 * size
    folded = O.floormod(index, period)
    last = period - folded if align_corners else period - 1 - folded
    return _clamp(O.min(folded, last), size)


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """An image (batch, channel, height, width) read at the coordinates (x, y) in [-1, 1] of a grid
    (batch, 2, height, width)."""
    _one_of(method, ("bilinear", "nearest", "bicubic"), "method")
    _one_of(padding_mode, ("zeros", "border", "reflection"), "padding_mode")
    _one_of(layout, ("NCHW",), "layout")
    height, width = data.shape[2], data.shape[3]

    def pixel(coordinate: Any, size: Any) -> Any:
        full = size.astype("float32")
        at = coordinate.astype("float32") + 1.0
        at = at * (full - 1.0) / 2.0 if align_corners else (at * full - 1.0) / 2.0
        # Far outside all is the same, and every integer type can hold it.
        return O.max(O.min(at, O.const(1e6, "float32")), O.const(-1e6, "float32"))

    def read(n: Any, c: Any, y: Any, x: Any) -> Any:
        if padding_mode == "reflection":
            y, x = _reflected(y, height, align_corners), _reflected(x, width, align_corners)
        value = data(n, c, _clamp(y, height), _clamp(x, width)).astype("float32")
        if padding_mode != "zeros":
            return value
        inside = I.all(y >= 0, y < height, x >= 0, x < width)
        return I.if_then_else(inside, value, O.const(0, "float32"))

    def taps(at: Any) -> list[tuple[Any, Any]]:
        if method == "nearest":
            return [(I.nearbyint(at).astype("int64"), None)]
        low = I.floor(at)
        part, first = at - low, low.astype("int64")
        if method == "bilinear":
            return [(first, 1.0 - part), (first + 1, part)]
        weights = zip((-1, 0, 1, 2), _cubic(part, -0.75), strict=True)
        return [(first + offset, weight) for offset, weight in weights]

    def element(n: Any, c: Any, i: Any, j: Any) -> Any:
        total: Any = None
        rows = taps(pixel(grid(n, 1, i, j), height))
        columns = taps(pixel(grid(n, 0, i, j), width))
        for (y, row), (x, column) in itertools.product(rows, columns):
            value = read(n, c, y, x)
            value = value if row is None else value * row * column
            total = value if total is None else total + value
        return total.astype(data.dtype)

    shape = [data.shape[0], data.shape[1], grid.shape[2], grid.shape[3]]
    return compute(shape, element, "grid_sample")


# -- crops and morphology -----------------------------------------------------------------------


def crop_and_resize(
    data: Tensor, boxes: Tensor, box_indices: Tensor, crop_size: Sequence[int],
    layout: str = "NCHW", method: str = "bilinear", extrapolation_value: float | None = None,
    out_dtype: object | None = None,
) -> Tensor:  # fmt: skip
    """Boxes of images resized to one size.

    boxes: (boxes, 4), the first and the last row and column as parts of the image's size, y before
    x; box_indices: the image of each.  Outside of the image is `extrapolation_value` (0).
    """
    _one_of(method, ("bilinear", "nearest_neighbor"), "method")
    _one_of(layout, ("NCHW", "NHWC"), "layout")
    sizes = dict(zip(layout, data.shape, strict=True))
    target = dict(zip("HW", crop_size, strict=True))
    dtype = data.dtype if out_dtype in (None, "", "void") else out_dtype
    outside = O.const(extrapolation_value or 0.0, "float32")

    def element(*indices: Any) -> PrimExpr:
        out = dict(zip(layout, indices, strict=True))
        box, checks, along = out["N"], [], []
        for axis, letter in enumerate("HW"):
            last = O.cast("float32", O.subtract(sizes[letter], 1))
            low, high = (O.cast("float32", boxes(box, axis + side)) for side in (0, 2))
            if target[letter] > 1:
                step = O.div(O.multiply(O.subtract(high, low), last), float(target[letter] - 1))
                at = O.add(O.multiply(low, last), O.multiply(out[letter].astype("float32"), step))
            else:
                at = O.multiply(O.multiply(O.add(low, high), last), O.const(0.5, "float32"))
            checks += [O.less_equal(0.0, at), O.less_equal(at, last)]
            kind = "linear" if method == "bilinear" else method
            along.append(_taps(at, O.cast("int64", sizes[letter]), kind, "round", -0.5))
        image = O.cast("int64", box_indices(box))
        total: PrimExpr = O.const(0.0, "float32")
        for taps in itertools.product(*along):
            place = {**out, "N": image, "H": taps[0][0], "W": taps[1][0]}
            value = data(*[place[letter] for letter in layout]).astype("float32")
            for _, weight in taps:
                value = value if weight is None else value * weight
            total = O.add(total, value)
        return O.cast(dtype, O.select(I.all(*checks), total, outside))

    shape = {**sizes, **target, "N": box_indices.shape[0]}
    return compute([shape[letter] for letter in layout], element, "crop_and_resize", "injective")


def dilation2d_nchw(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any,
    out_dtype: object | None = None,
) -> Tensor:  # fmt: skip
    """Grayscale dilation: the largest sum of an element and the filter (channels, height, width)
    over it.  Padding counts as zeros."""
    steps, spread = per_axis(stride, 2, "stride"), per_axis(dilations, 2, "dilations")
    taps = int_list(list(filter.shape[1:]))
    before, after = both_sides(padding, 2, taps, spread)
    padded = pad(input, [0, 0, *before], [0, 0, *after], name="pad_temp")
    dtype = input.dtype if out_dtype in (None, "", "void") else out_dtype
    sizes = [
        simplify(O.add(O.floordiv(O.subtract(size, (tap - 1) * apart + 1), step), 1))
        for size, tap, apart, step in zip(padded.shape[2:], taps, spread, steps, strict=True)
    ]
    ry, rx = reduce_axis((0, taps[0]), "ry"), reduce_axis((0, taps[1]), "rx")

    def element(n: Any, c: Any, y: Any, x: Any) -> PrimExpr:
        place = [
            O.add(O.multiply(at, step), O.multiply(tap.var, apart))
            for at, step, tap, apart in zip((y, x), steps, (ry, rx), spread, strict=True)
        ]
        value = O.cast(dtype, padded(n, c, *place))
        return te_max(O.add(value, O.cast(dtype, filter(c, ry.var, rx.var))), axis=[ry, rx])

    return compute([*input.shape[:2], *sizes], element, "dilation2d_nchw", "dilation2d_nchw")


def dilation2d_nhwc(
    input: Tensor, filter: Tensor, stride: Any, padding: Any, dilations: Any,
    out_dtype: object | None = None,
) -> Tensor:  # fmt: skip
    """As `dilation2d_nchw`, channels last: filter (height, width, channels)."""
    moved, taps = transpose(input, [0, 3, 1, 2]), transpose(filter, [2, 0, 1])
    made = dilation2d_nchw(moved, taps, stride, padding, dilations, out_dtype)
    return transpose(made, [0, 2, 3, 1])
