"""Winograd convolutions along one axis, whose taps along the other are summed as channels are.

`sum over r` of one-dimensional convolutions by the rows `w[r, :]` of a kernel has one transform of
the output for all of them, since transforms are linear: the products are summed before it.  So
kernels of one row or column, and those over few channels, for which the transforms along two axes
would cost more than they save, take two to four fifths of the multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.aligned_arrays import aligned_empty
from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int
from relax_mlir.topi.nn.pad import pad
from relax_mlir.topi.nn.winograd import Bilinear, constant_matrix

__all__ = ["conv1d_winograd_nwc", "conv2d_winograd_1d_nhwc", "transform_weight_1d"]


def transform_weight_1d(
    weight: np.ndarray, algorithm: Bilinear, axis: int, panel: int = 0
) -> np.ndarray:
    """A weight [kh, kw, I, O] transformed along `axis` (0 for rows, 1 for columns) as [products,
    taps of the other axis, I, O] in float32, or, with its output channels in panels (`panel`
    divides O), [O / panel, products, taps, I, panel]."""
    along = np.moveaxis(weight, axis, 0).astype(np.float64)
    made = np.tensordot(algorithm.g, along, 1)
    if panel:
        split = made.reshape(*made.shape[:3], made.shape[3] // panel, panel)
        made = np.moveaxis(split, 3, 0)
    result = aligned_empty(made.shape, "float32")
    result[...] = made
    return result


def conv2d_winograd_1d_nhwc(
    data: Tensor,
    weight: Tensor,
    padding: Sequence[int],
    algorithm: Bilinear,
    axis: int,
    stride: int,
    sizes: Sequence[PrimExpr | int],
) -> Tensor:
    """A convolution [N, H, W, C] to [N, *sizes, O] with a weight that `transform_weight_1d` has
    transformed along `axis` (0 for rows, 1 for columns).  `stride` is that along the other axis,
    `padding` is (top, left): what else surrounds the data follows from the sizes.  Raises Error if
    the spatial sizes are not known."""
    return _convolution(data, weight, padding, algorithm, axis, stride, sizes, "conv2d_winograd_1d")


def conv1d_winograd_nwc(
    data: Tensor, weight: Tensor, padding: int, algorithm: Bilinear, size: PrimExpr | int
) -> Tensor:
    """A convolution [N, W, C] to [N, size, O] with a transformed weight [products, I, O], or in
    panels [O / panel, products, I, panel]: that of `transform_weight_1d` without its only tap of
    the other axis.  `padding` is what lies before the data.  Raises Error if the length is not
    known."""
    return _convolution(data, weight, [padding], algorithm, 0, 1, [size], "conv1d_winograd")


def _convolution(
    data: Tensor,
    weight: Tensor,
    padding: Sequence[int],
    algorithm: Bilinear,
    axis: int,
    stride: int,
    sizes: Sequence[PrimExpr | int],
    name: str,
) -> Tensor:
    """Of data with one spatial axis, or with another one, along which taps are summed."""
    lengths, known = _known(sizes), _known(data.shape[1:-1])
    taps = _known(weight.shape[-3:-2])[0] if len(lengths) > 1 else 1
    tiles = -(-lengths[axis] // algorithm.output)
    wanted = [(length - 1) * stride + taps for length in lengths]
    wanted[axis] = (tiles - 1) * algorithm.step + algorithm.reach
    after = [max(0, w - p - k) for w, p, k in zip(wanted, padding, known, strict=True)]
    if any(padding) or any(after):
        data = pad(data, [0, *padding, 0], [0, *after, 0], name="pad_temp")
    read, written = (
        [values[i] for i in range(len(values)) if i != axis] for values in (wanted, lengths)
    )
    transformed = _transformed_data(data, algorithm, axis, [*read, tiles])
    products = _products(transformed, weight, stride, written, taps)
    return _output(products, algorithm, axis, lengths, name)


def _known(sizes: Sequence[PrimExpr | int]) -> list[int]:
    found = [as_int(size) for size in sizes]
    if None in found:
        raise Error("winograd: the size of the image has to be known")
    return [size for size in found if size is not None]


def _transformed_data(data: Tensor, algorithm: Bilinear, axis: int, sizes: Sequence[int]) -> Tensor:
    """Tiles of data [N, H, W, C] as [P, N, positions of the other axis, tiles, C]; without another
    axis of [N, W, C] as [P, N, tiles, C]."""
    matrix = constant_matrix(algorithm.b, data.dtype, "B")
    j = reduce_axis((0, algorithm.reach), "j")

    def element(q: Any, n: Any, *place: Any) -> PrimExpr:
        *others, t, c = place
        others.insert(axis, O.add(O.multiply(t, algorithm.step), j.var))
        return te_sum(O.multiply(matrix(q, j.var), data(n, *others, c)), axis=j)

    shape = [algorithm.products, data.shape[0], *sizes, data.shape[-1]]
    return compute(shape, element, "input_transform")


def _products(data: Tensor, weight: Tensor, stride: int, sizes: Sequence[int], taps: int) -> Tensor:
    """A matrix product for each product of the algorithm, over taps and channels."""
    panel = as_int(weight.shape[-1]) if weight.ndim > data.ndim - 1 else None
    outputs = weight.shape[-1] if panel is None else O.multiply(weight.shape[0], panel)
    k = reduce_axis((0, data.shape[-1]), "k")
    window = [reduce_axis((0, taps), "r") for _ in sizes]

    def product(q: Any, n: Any, *place: Any) -> PrimExpr:
        *others, t, o = place
        summed = [*(r.var for r in window), k.var]
        if panel is None:
            factor = weight(q, *summed, o)
        else:
            factor = weight(O.floordiv(o, panel), q, *summed, O.floormod(o, panel))
        read = (O.add(O.multiply(d, stride), r.var) for d, r in zip(others, window, strict=True))
        datum = data(q, n, *read, t, k.var)
        return te_sum(O.multiply(datum, factor), axis=[*window, k])

    shape = [*data.shape[:2], *sizes, data.shape[-2], outputs]
    return compute(shape, product, "tap_products")


def _output(
    products: Tensor, algorithm: Bilinear, axis: int, sizes: Sequence[int], name: str
) -> Tensor:
    """Products transformed back to [N, *sizes, O]."""
    matrix = constant_matrix(algorithm.a, products.dtype, "A")
    q = reduce_axis((0, algorithm.products), "q")

    def element(n: Any, *place: Any) -> PrimExpr:
        *others, o = place
        along = others.pop(axis)
        tile, inside = (f(along, algorithm.output) for f in (O.floordiv, O.floormod))
        return te_sum(
            O.multiply(matrix(inside, q.var), products(q.var, n, *others, tile, o)), axis=q
        )

    layout = "nhwc" if len(sizes) > 1 else "nwc"
    shape = [products.shape[1], *sizes, products.shape[-1]]
    return compute(shape, element, name, f"{name}_{layout}")
