"""Winograd convolutions: fewer multiplications by transforming tiles of the data and the weight.

A one-dimensional convolution of a tile, `y[i] = sum_t x[i * stride + t] w[t]` for m outputs, is
written `y = A ((G w) * (B x))` with an elementwise product of P elements.  Over two axes the three
transforms are applied to each, and the product, summed over channels, is P * P matrix products.
The matrices are those of Cook and Toom for interpolation points (`_POINTS`) which have less than
half the error of the usual integers (Barabasz and others, "Error analysis and improving the
accuracy of Winograd convolution for deep neural networks", 2020); with stride 2 the even and the
odd taps are a convolution each, of stride 1.  Many taps are better cut into runs, each a
convolution of its own whose results add up: the errors grow with the points of the longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from relax_mlir.dialects.aligned_arrays import aligned_empty
from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, Select
from relax_mlir.topi.common import as_int
from relax_mlir.topi.nn.pad import pad

__all__ = [
    "Bilinear",
    "bilinear",
    "channel_panels",
    "constant_matrix",
    "conv2d_winograd_nhwc",
    "transform_weight",
]

_Matrix = list[list[Fraction]]
# The finite points, by how many there are: those of least error of all with small numbers.
_POINTS = {
    0: (),
    1: ("0",),
    2: ("0", "1"),
    3: ("0", "1", "-1"),
    4: ("0", "5/8", "-5/8", "3/2"),
    5: ("0", "5/8", "-5/8", "3/2", "-3/2"),
    6: ("1/4", "-1/4", "7/8", "-7/8", "3/2", "-3/2"),
    7: ("0", "1/2", "-1/2", "1", "-1", "2", "-2"),
}
# Elements of a weight that are transformed at once.
_BLOCK = 1 << 14


@dataclass(frozen=True)
class Bilinear:
    """`output` positions of a convolution with `taps` taps as `y = A ((G w) * (B x))`.

    a: output x products; g: products x taps; b: products x elements of x.  runs: into how many the
    taps are cut, those of each parity for stride 2.
    """

    output: int
    taps: int
    stride: int
    a: np.ndarray
    g: np.ndarray
    b: np.ndarray
    runs: int = 1

    @property
    def products(self) -> int:
        return self.b.shape[0]

    @property
    def points(self) -> int:
        """Interpolation points, infinity among them, of the largest of its algorithms of stride 1;
        rounding errors grow with them."""
        return self.output + -(-self.taps // (self.stride * self.runs)) - 1

    @property
    def reach(self) -> int:
        """Elements of x that a tile reads."""
        return self.b.shape[1]

    @property
    def step(self) -> int:
        """Elements of x from one tile to the next."""
        return self.output * self.stride


@cache
def bilinear(output: int, taps: int, stride: int = 1, runs: int = 1) -> Bilinear:
    """The algorithm for tiles of `output` positions, with the taps (of each parity, for stride 2)
    cut into so many runs; Error if there are not enough points."""
    if stride not in (1, 2):
        raise Error(f"winograd: strides 1 and 2 are known, given {stride}")
    a, g, b = (np.array(m, np.float64) for m in _sum_of_runs(output, taps, stride, runs))
    return Bilinear(output, taps, stride, a, g, b, runs)


def _cook_toom(output: int, taps: int) -> tuple[_Matrix, _Matrix, _Matrix]:
    """A, G, B for finite points and infinity.

    The factor that belongs to each point is where it costs nothing: among the constants of A, and
    for zero of B.  Rows of G then begin with one, which halves what transforming a weight in the
    call takes.
    """
    if taps == 1:
        identity = [[Fraction(int(i == j)) for j in range(output)] for i in range(output)]
        return identity, [[Fraction(1)] for _ in range(output)], identity
    count = output + taps - 1
    if count - 1 not in _POINTS:
        raise Error(f"winograd: {output} outputs of {taps} taps need {count - 1} points")
    points = [Fraction(text) for text in _POINTS[count - 1]]
    one, zero = Fraction(1), Fraction(0)
    scale = [_product([p - q for q in points if q != p]) for p in points]
    back = [one / f if p else one for p, f in zip(points, scale, strict=True)]
    there = [one if p else one / f for p, f in zip(points, scale, strict=True)]
    a = [
        [p**i * s for p, s in zip(points, back, strict=True)] + [Fraction(int(i == output - 1))]
        for i in range(output)
    ]
    g = [[p**j for j in range(taps)] for p in points]
    g.append([zero] * (taps - 1) + [one])
    b = [
        [*(c * s for c in _polynomial([q for q in points if q != p])), zero]
        for p, s in zip(points, there, strict=True)
    ]
    b.append(_polynomial(points))
    return a, g, b


def _product(factors: Sequence[Fraction]) -> Fraction:
    total = Fraction(1)
    for factor in factors:
        total *= factor
    return total


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients of the product of `x - root`, the constant first."""
    found = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *found]
        found = [s - root * c for s, c in zip(shifted, [*found, Fraction(0)], strict=True)]
    return found


def _sum_of_runs(
    output: int, taps: int, stride: int, runs: int
) -> tuple[_Matrix, _Matrix, _Matrix]:
    """A convolution as the sum of some of stride 1, each on elements of one parity."""
    reach = stride * (output - 1) + taps
    zero = Fraction(0)
    a: _Matrix = [[] for _ in range(output)]
    g: _Matrix = []
    b: _Matrix = []
    for run in _tap_runs(taps, stride, runs):
        a_part, g_part, b_part = _cook_toom(output, len(run))
        for row, part in zip(a, a_part, strict=True):
            row += part
        for line in g_part:
            g.append([zero] * taps)
            g[-1][run.start : run.stop : stride] = line
        for line in b_part:
            b.append([zero] * reach)
            b[-1][run.start : run.start + stride * len(line) : stride] = line
    return a, g, b


def _tap_runs(taps: int, stride: int, runs: int) -> list[range]:
    """The taps of each parity in runs of about one length."""
    found: list[range] = []
    for parity in range(min(stride, taps)):
        own = range(parity, taps, stride)
        for i in range(min(runs, len(own))):
            low, high = (len(own) * n // min(runs, len(own)) for n in (i, i + 1))
            found.append(own[low:high])
    return found


def transform_weight(
    weight: np.ndarray, rows: Bilinear, columns: Bilinear, panel: int = 0
) -> np.ndarray:
    """A weight [kh, kw, I, O] as [products of rows, products of columns, I, O] in float32, or, with
    its output channels in panels (`panel` divides O), [O / panel, P, Q, I, panel]."""
    channels, outputs = weight.shape[2:]
    width = panel or outputs
    split = weight.astype(np.float32, copy=False).reshape(
        *weight.shape[:3], outputs // width, width
    )
    products = rows.products * columns.products
    # What is rounded here is the same for every position: its error does not average out over an
    # image.  So it is rounded once, in the end.
    matrix = np.kron(rows.g, columns.g)
    made = aligned_empty((outputs // width, products, channels * width), "float32")
    # A part at a time that stays in cache: temporaries of the size of the weight cost more in page
    # faults than the arithmetic does.
    block = max(1, _BLOCK // width)
    for low in range(0, channels, block):
        high = min(low + block, channels)
        for i in range(outputs // width):
            taps = split[:, :, low:high, i].astype(np.float64).reshape(matrix.shape[1], -1)
            made[i, :, low * width : high * width] = matrix @ taps
    made = made.reshape(outputs // width, rows.products, columns.products, channels, width)
    return made if panel else made[0]


def constant_matrix(values: np.ndarray, dtype: str, name: str) -> Tensor:
    """A matrix whose elements are in the program."""

    zero = O.const(0.0, dtype)

    def one_of(index: Any, choices: Sequence[PrimExpr]) -> PrimExpr:
        """The choice that the index says; zeros are what is left if it is none of the others."""
        others = [i for i, choice in enumerate(choices) if choice is not zero]
        found = choices[others.pop()] if len(others) == len(choices) else zero
        for position in reversed(others):
            found = Select(O.equal(index, position), choices[position], found)
        return found

    def element(i: Any, j: Any) -> PrimExpr:
        lines = [[O.const(float(x), dtype) if x else zero for x in line] for line in values]
        return one_of(i, [one_of(j, line) for line in lines])

    return compute(values.shape, element, name)


def conv2d_winograd_nhwc(
    data: Tensor,
    weight: Tensor,
    padding: Sequence[int],
    rows: Bilinear,
    columns: Bilinear,
    sizes: Sequence[PrimExpr | int],
    *,
    transform: bool = False,
) -> Tensor:
    """A convolution [N, H, W, C] to [N, *sizes, O] with a weight that `transform_weight` has
    transformed, [products of rows, products of columns, I, O], or the same with the output channels
    in panels, [O / panel, P, Q, I, panel].  With `transform` the weight is [kh, kw, I, O], or in
    panels [O / panel, I, kh, kw, panel] (`channel_panels`), and is transformed in the call.
    `padding` is (top, left): what else surrounds the data follows from the sizes.  Raises Error if
    the spatial sizes are not known."""
    height, width = (as_int(size) for size in sizes)
    known = [as_int(data.shape[1]), as_int(data.shape[2])]
    if height is None or width is None or None in known:
        raise Error("winograd: the size of the image has to be known")
    axes = (rows, columns)
    tiles = [-(-s // x.output) for s, x in zip((height, width), axes, strict=True)]
    wanted = [(t - 1) * x.step + x.reach for t, x in zip(tiles, axes, strict=True)]
    after = [w - p - (k or 0) for w, p, k in zip(wanted, padding, known, strict=True)]
    if any(padding) or any(after):
        data = pad(data, [0, *padding, 0], [0, *after, 0], name="pad_temp")
    transformed = _transformed_data(data, rows, columns, tiles, wanted[1])
    if transform:
        weight = _transformed_weight(weight, rows, columns)
    return _output(_products(transformed, weight), rows, columns, (height, width))


def _pair_of_matrices(
    first: np.ndarray, second: np.ndarray, dtype: str, name: str
) -> tuple[Tensor, Tensor]:
    """The matrices for rows and columns, one where they are equal."""
    rows = constant_matrix(first, dtype, f"{name}_rows")
    if np.array_equal(first, second):
        return rows, rows
    return rows, constant_matrix(second, dtype, f"{name}_columns")


def _transformed_data(
    data: Tensor, rows: Bilinear, columns: Bilinear, tiles: Sequence[int], width: int
) -> Tensor:
    """Tiles of data [N, H, W, C] as [P, Q, N, tiles of rows, tiles of columns, C]."""
    batch, channels = data.shape[0], data.shape[3]
    b_rows, b_columns = _pair_of_matrices(rows.b, columns.b, data.dtype, "B")
    i, j = reduce_axis((0, rows.reach), "i"), reduce_axis((0, columns.reach), "j")

    def along_rows(p: Any, n: Any, th: Any, x: Any, c: Any) -> PrimExpr:
        element = data(n, O.add(O.multiply(th, rows.step), i.var), x, c)
        return te_sum(O.multiply(b_rows(p, i.var), element), axis=i)

    half = compute([rows.products, batch, tiles[0], width, channels], along_rows, "input_rows")

    def along_columns(p: Any, q: Any, n: Any, th: Any, tw: Any, c: Any) -> PrimExpr:
        element = half(p, n, th, O.add(O.multiply(tw, columns.step), j.var), c)
        return te_sum(O.multiply(b_columns(q, j.var), element), axis=j)

    shape = [rows.products, columns.products, batch, *tiles, channels]
    return compute(shape, along_columns, "input_transform")


def _transformed_weight(weight: Tensor, rows: Bilinear, columns: Bilinear) -> Tensor:
    """A weight [kh, kw, I, O], or in panels [O / panel, I, kh, kw, panel], as [P, Q, I, O]."""
    g_rows, g_columns = _pair_of_matrices(rows.g, columns.g, weight.dtype, "G")
    r, s = reduce_axis((0, rows.taps), "r"), reduce_axis((0, columns.taps), "s")
    panel = as_int(weight.shape[4]) if weight.ndim == 5 else None
    channels, outputs = (
        weight.shape[2:] if panel is None
        else (weight.shape[1], O.multiply(weight.shape[0], panel))
    )  # fmt: skip

    def along_rows(p: Any, s: Any, c: Any, o: Any) -> PrimExpr:
        if panel is None:
            tap = weight(r.var, s, c, o)
        else:
            tap = weight(O.floordiv(o, panel), c, r.var, s, O.floormod(o, panel))
        return te_sum(O.multiply(g_rows(p, r.var), tap), axis=r)

    half = compute([rows.products, columns.taps, channels, outputs], along_rows, "weight_rows")

    def along_columns(p: Any, q: Any, c: Any, o: Any) -> PrimExpr:
        return te_sum(O.multiply(g_columns(q, s.var), half(p, s.var, c, o)), axis=s)

    shape = [rows.products, columns.products, channels, outputs]
    return compute(shape, along_columns, "weight_transform")


def channel_panels(weight: np.ndarray, panel: int) -> np.ndarray:
    """A weight [kh, kw, I, O] as [O / panel, I, kh, kw, panel] in float32: all taps of an input
    channel together, as a transform in the call reads them."""
    kh, kw, channels, outputs = weight.shape
    split = weight.astype(np.float32, copy=False).reshape(kh, kw, channels, outputs // panel, panel)
    return np.ascontiguousarray(split.transpose(3, 2, 0, 1, 4))


def _products(data: Tensor, weight: Tensor) -> Tensor:
    """A matrix product for each element of a tile."""
    panel = as_int(weight.shape[4]) if weight.ndim == 5 else None
    outputs = weight.shape[3] if panel is None else O.multiply(weight.shape[0], panel)
    k = reduce_axis((0, data.shape[5]), "k")

    def product(p: Any, q: Any, n: Any, th: Any, tw: Any, o: Any) -> PrimExpr:
        if panel is None:
            factor = weight(p, q, k.var, o)
        else:
            factor = weight(O.floordiv(o, panel), p, q, k.var, O.floormod(o, panel))
        return te_sum(O.multiply(data(p, q, n, th, tw, k.var), factor), axis=k)

    return compute([*data.shape[:5], outputs], product, "bgemm")


def _output(products: Tensor, rows: Bilinear, columns: Bilinear, sizes: tuple[int, int]) -> Tensor:
    """Products transformed back to [N, *sizes, O]."""
    a_rows, a_columns = _pair_of_matrices(rows.a, columns.a, products.dtype, "A")
    p, q = reduce_axis((0, rows.products), "p"), reduce_axis((0, columns.products), "q")

    def along_rows(y: Any, q: Any, n: Any, th: Any, tw: Any, o: Any) -> PrimExpr:
        return te_sum(O.multiply(a_rows(y, p.var), products(p.var, q, n, th, tw, o)), axis=p)

    half = compute([rows.output, *products.shape[1:]], along_rows, "output_rows")

    def along_columns(n: Any, h: Any, w: Any, o: Any) -> PrimExpr:
        tile = O.floordiv(h, rows.output), O.floordiv(w, columns.output)
        element = half(O.floormod(h, rows.output), q.var, n, *tile, o)
        return te_sum(O.multiply(a_columns(O.floormod(w, columns.output), q.var), element), axis=q)

    shape = [products.shape[2], *sizes, products.shape[5]]
    return compute(shape, along_columns, "conv2d_winograd", "conv2d_winograd_nhwc")
