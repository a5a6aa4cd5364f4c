"""Pooling over regions of interest: rows (batch, x1, y1, x2, y2) of `rois`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.imperative import every
from relax_mlir.topi.nn.conv import per_axis

MOST_SAMPLES = 4096
"""Samples along a part of a region, however large it is."""


class _Regions:
    """The data and the regions of one pooling, in a layout of N, C, H and W."""

    def __init__(self, data: Tensor, rois: Tensor, pooled_size: Any, layout: str):
        if sorted(layout) != sorted("NCHW") or len(layout) != data.ndim:
            raise Error(f"roi: {layout!r} is no layout of {data.ndim} axes with N, C, H and W")
        self.layout = layout
        self.pooled = per_axis(pooled_size, 2, "pooled_size")
        sizes = dict(zip(layout, data.shape, strict=True))
        self.height, self.width = (O.cast("int64", sizes[x]) for x in "HW")
        self.batch = O.cast("int64", sizes["N"])
        out = {"N": rois.shape[0], "C": sizes["C"], "H": self.pooled[0], "W": self.pooled[1]}
        self.shape = [out[x] for x in layout]

    def named(self, indices: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.layout, indices, strict=True))

    def place(self, n: Any, c: Any, y: Any, x: Any) -> tuple[Any, ...]:
        at = {"N": n, "C": c, "H": y, "W": x}
        return tuple(at[letter] for letter in self.layout)

    def image(self, rois: Buffer, region: Any) -> PrimExpr:
        """The image of a region, limited to those there are."""
        given = O.cast("int64", rois[region, 0])
        return O.max(O.min(given, O.subtract(self.batch, 1)), O.const(0, "int64"))


def _bilinear(
    build: PrimFuncBuilder, data: Buffer, regions: _Regions, n: Any, c: Any, y: Any, x: Any
) -> PrimExpr:
    """The data between four pixels; zero more than a pixel outside."""
    zero, one = O.const(0.0, "float32"), O.const(1.0, "float32")
    axes: list[tuple[PrimExpr, PrimExpr, PrimExpr]] = []
    checks: list[PrimExpr] = []
    for at, size in ((y, regions.height), (x, regions.width)):
        full = O.cast("float32", size)
        checks += [O.less_equal(O.const(-1.0, "float32"), at), O.less_equal(at, full)]
        # Written so that a NaN becomes zero: it must not be an index.
        limited = O.select(O.less(zero, at), O.min(at, full - one), zero)
        low = build.let("low", O.cast("int64", I.floor(limited)))
        high = O.min(O.add(low, 1), O.subtract(size, 1))
        axes.append((low, high, build.let("part", limited - O.cast("float32", low))))
    (top, bottom, down), (left, right, across) = axes

    def pixel(row: Any, column: Any) -> PrimExpr:
        return O.cast("float32", data[regions.place(n, c, row, column)])

    upper = pixel(top, left) * (one - across) + pixel(top, right) * across
    lower = pixel(bottom, left) * (one - across) + pixel(bottom, right) * across
    return O.select(I.all(*checks), upper * (one - down) + lower * down, zero)


def roi_align(
    data: Tensor,
    rois: Tensor,
    pooled_size: Any,
    spatial_scale: float,
    mode: str = "avg",
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
) -> Tensor:
    """The mean (or maximum) of samples of each part of each region (He et al., Mask R-CNN, 2017).

    sample_ratio: samples along a part; -1 takes one a pixel.  aligned: pixels have their centres at
    half coordinates.
    """
    if mode not in ("avg", "max"):
        raise Error(f'roi_align: mode must be "avg" or "max", given {mode!r}')
    regions = _Regions(data, rois, pooled_size, layout)
    scale, shift = O.const(spatial_scale, "float32"), O.const(0.5 if aligned else 0.0, "float32")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, boxes = ins
        total = build.alloc_buffer("total", [O.const(1, "int64")], "float32")
        with ExitStack() as nest:
            at = every(build, regions.shape, nest, "i")
            out = regions.named(at)
            image = build.let("image", regions.image(boxes, out["N"]))
            starts, parts, counts = [], [], []
            for axis, low, high in ((0, 2, 4), (1, 1, 3)):
                first = O.cast("float32", boxes[out["N"], low]) * scale - shift
                last = O.cast("float32", boxes[out["N"], high]) * scale - shift
                extent = last - first
                if not aligned:
                    extent = O.max(extent, O.const(1.0, "float32"))
                part = build.let("part", extent / O.const(regions.pooled[axis], "float32"))
                most = O.const(float(MOST_SAMPLES), "float32")
                few = O.select(O.less(part, most), O.max(I.ceil(part), 0.0), most)
                taken = O.cast("int64", few) if sample_ratio <= 0 else sample_ratio
                counts.append(build.let("samples", O.max(O.const(0, "int64"), taken)))
                starts.append(build.let("start", first + part * O.cast("float32", out["HW"[axis]])))
                parts.append(part)
            lowest = float("-inf") if mode == "max" else 0.0
            build.store(total, O.const(lowest, "float32"), [0])
            with ExitStack() as inner:
                taps = every(build, counts, inner, "s")
                y, x = (
                    starts[i]
                    + (O.cast("float32", taps[i]) + 0.5) * parts[i] / O.cast("float32", counts[i])
                    for i in range(2)
                )
                value = _bilinear(build, source, regions, image, out["C"], y, x)
                joined = O.max(total[0], value) if mode == "max" else total[0] + value
                build.store(total, joined, [0])
            number = O.max(O.multiply(counts[0], counts[1]), O.const(1, "int64"))
            result = total[0] / O.cast("float32", number) if mode == "avg" else total[0]
            build.store(outs[0], O.cast(data.dtype, result), at)

    return imperative([(regions.shape, data.dtype)], [data, rois], emit, "roi_align")


def roi_pool(
    data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, layout: str = "NCHW"
) -> Tensor:
    """The maximum of each part of each region (Girshick, Fast R-CNN, 2015); 0 if empty."""
    regions = _Regions(data, rois, pooled_size, layout)
    scale = O.const(spatial_scale, "float32")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, boxes = ins
        best = build.alloc_buffer("best", [O.const(1, "int64")], data.dtype)
        with ExitStack() as nest:
            at = every(build, regions.shape, nest, "i")
            out = regions.named(at)
            image = build.let("image", regions.image(boxes, out["N"]))
            firsts, counts = [], []
            for axis, low, high in ((0, 2, 4), (1, 1, 3)):
                size = (regions.height, regions.width)[axis]
                first, last = _part(boxes, out, axis, low, high, scale, regions)
                start = O.max(O.min(first, size), O.const(0, "int64"))
                end = O.max(O.min(last, size), O.const(0, "int64"))
                firsts.append(build.let("first", start))
                counts.append(build.let("count", O.max(end - start, O.const(0, "int64"))))
            empty = O.less_equal(O.multiply(counts[0], counts[1]), 0)
            build.store(best, O.select(empty, O.const(0, data.dtype), I.min_value(data.dtype)), [0])
            with ExitStack() as inner:
                y, x = every(build, counts, inner, "s")
                place = regions.place(image, out["C"], O.add(firsts[0], y), O.add(firsts[1], x))
                build.store(best, O.max(best[0], source[place]), [0])
            build.store(outs[0], best[0], at)

    return imperative([(regions.shape, data.dtype)], [data, rois], emit, "roi_pool")


def _part(
    boxes: Buffer,
    out: dict[str, Any],
    axis: int,
    low: int,
    high: int,
    scale: PrimExpr,
    regions: _Regions,
) -> tuple[PrimExpr, PrimExpr]:
    """The first pixel of a part of a region along an axis, and the one behind its last."""
    half = O.const(0.5, "float32")
    first = I.floor(O.cast("float32", boxes[out["N"], low]) * scale + half)
    last = I.floor(O.cast("float32", boxes[out["N"], high]) * scale + half)
    extent = O.max(last - first + 1.0, O.const(1.0, "float32"))
    part = extent / O.const(regions.pooled[axis], "float32")
    index = O.cast("float32", out["HW"[axis]])
    start, end = I.floor(index * part) + first, I.ceil((index + 1.0) * part) + first
    return O.cast("int64", start), O.cast("int64", end)


def roi_align_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: str,
                   sample_ratio: int = -1, aligned: bool = False) -> Tensor:  # fmt: skip
    """roi_align of images in NCHW; mode is "avg" or "max"."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NCHW")


def roi_align_nhwc(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float, mode: str,
                   sample_ratio: int = -1, aligned: bool = False) -> Tensor:  # fmt: skip
    """roi_align of images in NHWC; mode is "avg" or "max"."""
    return roi_align(data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned, "NHWC")


def roi_pool_nchw(data: Tensor, rois: Tensor, pooled_size: Any, spatial_scale: float) -> Tensor:
    """roi_pool of images in NCHW."""
    return roi_pool(data, rois, pooled_size, spatial_scale, "NCHW")
