"""Elements between channels, batch and space: blocks, dilation, upsampling, blocked layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import int_list, normalize_axis, product
from relax_mlir.topi.image import resize2d, resize3d
from relax_mlir.topi.indexing import strided_slice
from relax_mlir.topi.nn.pad import pad
from relax_mlir.topi.transform import concatenate, reshape, transpose

__all__ = [
    "batch_to_space_nd", "depth_to_space", "dilate", "fifo_buffer", "space_to_batch_nd",
    "space_to_depth", "unpack_NCHWc_to_nchw", "upsampling", "upsampling3d",
]  # fmt: skip


def dilate(data: Tensor, strides: Sequence[int], dilation_value: Any = 0.0,
           name: str = "DilatedInput") -> Tensor:  # fmt: skip
    """Elements `strides` apart, with `dilation_value` between them."""
    steps = int_list(list(strides))
    if len(steps) != data.ndim:
        raise Error(f"dilate: {data.ndim} dimensions, {len(steps)} strides given")
    shape = [
        simplify(O.add(O.multiply(O.subtract(size, 1), step), 1))
        for size, step in zip(data.shape, steps, strict=True)
    ]

    def body(*i: Any) -> PrimExpr:
        spread = [(at, step) for at, step in zip(i, steps, strict=True) if step != 1]
        source = [O.floordiv(at, step) for at, step in zip(i, steps, strict=True)]
        if not spread:
            return data(*source)
        there = I.all(*[O.equal(O.floormod(at, step), 0) for at, step in spread])
        return I.if_then_else(there, data(*source), O.const(dilation_value, data.dtype))

    return compute(shape, body, name, "injective,dilate")


def _image(data: Tensor, layout: str, what: str) -> tuple[Tensor, bool]:
    """4-D data as NCHW, and whether it has to be turned back."""
    if layout not in ("NCHW", "NHWC"):
        raise Error(f"{what}: a layout is NCHW or NHWC, not {layout}")
    return (data, False) if layout == "NCHW" else (transpose(data, [0, 3, 1, 2]), True)


def depth_to_space(
    data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Tensor:
    """Channels become blocks of pixels.  "DCR": the block's place changes more slowly along the
    channels than the channel that is left; "CDR": faster."""
    if mode not in ("DCR", "CDR"):
        raise Error(f"depth_to_space: a mode is DCR or CDR, not {mode}")
    x, turned = _image(data, layout, "depth_to_space")
    n, c, h, w = x.shape
    b = block_size
    left = simplify(O.floordiv(c, b * b))
    split = [n, b, b, left, h, w] if mode == "DCR" else [n, left, b, b, h, w]
    order = [0, 3, 4, 1, 5, 2] if mode == "DCR" else [0, 1, 4, 2, 5, 3]
    joined = [n, left, simplify(O.multiply(h, b)), simplify(O.multiply(w, b))]
    result = reshape(transpose(reshape(x, split), order), joined)
    return transpose(result, [0, 2, 3, 1]) if turned else result


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Blocks of pixels become channels, the place in the block changing most slowly."""
    x, turned = _image(data, layout, "space_to_depth")
    n, c, h, w = x.shape
    b = block_size
    rows, columns = (simplify(O.floordiv(size, b)) for size in (h, w))
    moved = transpose(reshape(x, [n, c, rows, b, columns, b]), [0, 3, 5, 1, 2, 4])
    result = reshape(moved, [n, simplify(O.multiply(c, b * b)), rows, columns])
    return transpose(result, [0, 2, 3, 1]) if turned else result


def space_to_batch_nd(
    data: Tensor, block_shape: Sequence[int], pad_before: Sequence[int], pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> Tensor:  # fmt: skip
    """Blocks of the dimensions behind the first become the batch, after padding."""
    blocks, m = int_list(list(block_shape)), len(block_shape)
    rest = data.ndim - 1 - m
    padded = pad(data, [0, *pad_before, *[0] * rest], [0, *pad_after, *[0] * rest], pad_value)
    batch, *spatial = padded.shape[: m + 1]
    remaining = padded.shape[m + 1 :]
    parts = [simplify(O.floordiv(s, b)) for s, b in zip(spatial, blocks, strict=True)]
    split: list[Any] = [batch]
    for part, block in zip(parts, blocks, strict=True):
        split += [part, block]
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m, 2), *range(2 * m + 1, 2 * m + 1 + rest)]
    moved = transpose(reshape(padded, [*split, *remaining]), order)
    whole = product([batch, *[O.const(b, batch.dtype) for b in blocks]])
    return reshape(moved, [whole, *parts, *remaining])


def batch_to_space_nd(
    data: Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Tensor:  # fmt: skip
    """The inverse of `space_to_batch_nd`, cropping what that padded."""
    blocks, m = int_list(list(block_shape)), len(block_shape)
    batch, *spatial = data.shape[: m + 1]
    remaining = data.shape[m + 1 :]
    count = 1
    for block in blocks:
        count *= block
    own = simplify(O.floordiv(batch, count))
    split = reshape(data, [*blocks, own, *spatial, *remaining])
    order = [m]
    for i in range(m):
        order += [m + 1 + i, i]
    moved = transpose(split, [*order, *range(2 * m + 1, 2 * m + 1 + len(remaining))])
    sizes = [simplify(O.multiply(s, b)) for s, b in zip(spatial, blocks, strict=True)]
    joined = reshape(moved, [own, *sizes, *remaining])
    ends = [simplify(O.subtract(s, e)) for s, e in zip(sizes, crop_end_list, strict=True)]
    return strided_slice(joined, list(crop_begin_list), ends, axes=list(range(1, m + 1)))


def fifo_buffer(data: Tensor, buffer: Tensor, axis: int) -> Tensor:
    """The buffer with the data behind it and as much left out in front."""
    at = normalize_axis(axis, data.ndim)
    kept = strided_slice(buffer, [data.shape[at]], [buffer.shape[at]], axes=[at])
    return concatenate([kept, data], at)


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: object) -> Tensor:
    """Channels in blocks (N, C/c, H, W, c) as NCHW, converted."""
    n, chunks, h, w, block = packed_out.shape

    def body(i: Any, c: Any, y: Any, x: Any) -> PrimExpr:
        value = packed_out(i, O.floordiv(c, block), y, x, O.floormod(c, block))
        return O.cast(out_dtype, value)

    return compute([n, product([chunks, block]), h, w], body, "output_unpack")


_METHODS = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "trilinear": "linear",
            "bicubic": "cubic"}  # fmt: skip


def _scaled(data: Tensor, layout: str, scales: dict[str, float], given: Any) -> list[Any]:
    """The sizes of the result: those given, or those of the data times the scales."""
    if given is not None:
        return list(given)
    sizes = dict(zip(layout, int_list(list(data.shape)), strict=True))
    return [round(sizes[letter] * scale) for letter, scale in scales.items()]


def upsampling(
    data: Tensor, scale_h: float, scale_w: float, layout: str = "NCHW",
    method: str = "nearest_neighbor", align_corners: bool = False, output_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Images `scale_h` times as high and `scale_w` times as wide."""
    if method not in _METHODS:
        raise Error(f"upsampling: a method is {', '.join(_METHODS)}, not {method}")
    size = _scaled(data, layout, {"H": scale_h, "W": scale_w}, output_shape)
    mode = "align_corners" if align_corners else "asymmetric"
    rounding = "" if align_corners else "floor"
    return resize2d(data, (0.0,) * 4, size, layout, _METHODS[method], mode, rounding)


def upsampling3d(
    data: Tensor, scale_d: float, scale_h: float, scale_w: float, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Volumes scaled along three axes."""
    if method not in _METHODS:
        raise Error(f"upsampling3d: a method is {', '.join(_METHODS)}, not {method}")
    size = _scaled(data, layout, {"D": scale_d, "H": scale_h, "W": scale_w}, output_shape)
    mode = coordinate_transformation_mode
    return resize3d(data, (0.0,) * 6, size, layout, _METHODS[method], mode)
