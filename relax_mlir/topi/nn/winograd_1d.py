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
    lengths = [as_int(size) for size in sizes]
    known = [as_int(data.shape[1]), as_int(data.shape[2])]
    length, across = lengths[axis], lengths[1 - axis]
    taps = as_int(weight.shape[weight.ndim - 3])
    if length is None or across is None or taps is None or None in known:
        raise Error("winograd: the size of the image has to be known")
    tiles = -(-length // algorithm.output)
    wanted = [(across - 1) * stride + taps] * 2
    wanted[axis] = (tiles - 1) * algorithm.step + algorithm.reach
    after = [max(0, w - p - (k or 0)) for w, p, k in zip(wanted, padding, known, strict=True)]
    if any(padding) or any(after):
        data = pad(data, [0, *padding, 0], [0, *after, 0], name="pad_temp")
    transformed = _transformed_data(data, algorithm, axis, (wanted[1 - axis], tiles))
    products = _products(transformed, weight, stride, (across, taps))
    return _output(products, algorithm, axis, lengths)


def _transformed_data(
    data: Tensor, algorithm: Bilinear, axis: int, sizes: tuple[int, int]
) -> Tensor:
    """Tiles of data [N, H, W, C] as [P, N, positions of the other axis, tiles, C]."""
    matrix = constant_matrix(algorithm.b, data.dtype, "B")
    j = reduce_axis((0, algorithm.reach), "j")

    def element(q: Any, n: Any, y: Any, t: Any, c: Any) -> PrimExpr:
        at = O.add(O.multiply(t, algorithm.step), j.var)
        datum = data(n, y, at, c) if axis else data(n, at, y, c)
        return te_sum(O.multiply(matrix(q, j.var), datum), axis=j)

    shape = [algorithm.products, data.shape[0], *sizes, data.shape[3]]
    return compute(shape, element, "input_transform")


def _products(data: Tensor, weight: Tensor, stride: int, sizes: tuple[int, int]) -> Tensor:
    """A matrix product for each product of the algorithm, over taps and channels."""
    across, taps = sizes
    panel = as_int(weight.shape[4]) if weight.ndim == 5 else None
    outputs = weight.shape[3] if panel is None else O.multiply(weight.shape[0], panel)
    r, k = reduce_axis((0, taps), "r"), reduce_axis((0, data.shape[4]), "k")

    def product(q: Any, n: Any, d: Any, t: Any, o: Any) -> PrimExpr:
        if panel is None:
            factor = weight(q, r.var, k.var, o)
        else:
            factor = weight(O.floordiv(o, panel), q, r.var, k.var, O.floormod(o, panel))
        datum = data(q, n, O.add(O.multiply(d, stride), r.var), t, k.var)
        return te_sum(O.multiply(datum, factor), axis=[r, k])

    shape = [*data.shape[:2], across, data.shape[3], outputs]
    return compute(shape, product, "tap_products")


def _output(
    products: Tensor, algorithm: Bilinear, axis: int, sizes: Sequence[PrimExpr | int | None]
) -> Tensor:
    """Products transformed back to [N, *sizes, O]."""
    matrix = constant_matrix(algorithm.a, products.dtype, "A")
    q = reduce_axis((0, algorithm.products), "q")

    def element(n: Any, h: Any, w: Any, o: Any) -> PrimExpr:
        along, other = (w, h) if axis else (h, w)
        tile, inside = (f(along, algorithm.output) for f in (O.floordiv, O.floormod))
        return te_sum(O.multiply(matrix(inside, q.var), products(q.var, n, other, tile, o)), axis=q)

    shape = [products.shape[1], *sizes, products.shape[4]]
    return compute(shape, element, "conv2d_winograd_1d", "conv2d_winograd_1d_nhwc")


def conv1d_winograd_nwc(
    data: Tensor, weight: Tensor, padding: int, algorithm: Bilinear, size: PrimExpr | int
) -> Tensor:
    """A convolution [N, W, C] to [N, size, O] with a transformed weight [products, I, O], or in
    panels [O / panel, products, I, panel]: that of `transform_weight_1d` without its only tap of
    the other axis.  `padding` is what lies before the data.  Raises Error if the length is not
    known."""
    length, known = as_int(size), as_int(data.shape[1])
    if length is None or known is None:
        raise Error("winograd: the length of the data has to be known")
    tiles = -(-length // algorithm.output)
    after = max(0, (tiles - 1) * algorithm.step + algorithm.reach - padding - known)
    if padding or after:
        data = pad(data, [0, padding, 0], [0, after, 0], name="pad_temp")
    b = constant_matrix(algorithm.b, data.dtype, "B")
    a = constant_matrix(algorithm.a, data.dtype, "A")
    panel = as_int(weight.shape[3]) if weight.ndim == 4 else None
    outputs = weight.shape[2] if panel is None else O.multiply(weight.shape[0], panel)
    j, k = reduce_axis((0, algorithm.reach), "j"), reduce_axis((0, data.shape[2]), "k")
    q_axis = reduce_axis((0, algorithm.products), "q")

    def transformed(q: Any, n: Any, t: Any, c: Any) -> PrimExpr:
        at = O.add(O.multiply(t, algorithm.step), j.var)
        return te_sum(O.multiply(b(q, j.var), data(n, at, c)), axis=j)

    shape = [algorithm.products, data.shape[0], tiles, data.shape[2]]
    tiled = compute(shape, transformed, "input_transform")

    def product(q: Any, n: Any, t: Any, o: Any) -> PrimExpr:
        if panel is None:
            factor = weight(q, k.var, o)
        else:
            factor = weight(O.floordiv(o, panel), q, k.var, O.floormod(o, panel))
        return te_sum(O.multiply(tiled(q, n, t, k.var), factor), axis=k)

    products = compute([*shape[:3], outputs], product, "tap_products")

    def element(n: Any, w: Any, o: Any) -> PrimExpr:
        tile, inside = (f(w, algorithm.output) for f in (O.floordiv, O.floormod))
        return te_sum(
            O.multiply(a(inside, q_axis.var), products(q_axis.var, n, tile, o)), axis=q_axis
        )

    sizes = [data.shape[0], length, outputs]
    return compute(sizes, element, "conv1d_winograd", "conv1d_winograd_nwc")
