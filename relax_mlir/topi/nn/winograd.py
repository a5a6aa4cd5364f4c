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
    taps are cut, those of each parity for stride 2.  in_call: see `bilinear`.

    The first products, with A and B of their own, are an algorithm for fewer positions (`part`).
    """

    output: int
    taps: int
    stride: int
    a: np.ndarray
    g: np.ndarray
    b: np.ndarray
    runs: int = 1
    in_call: bool = False

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

    def products_for(self, output: int) -> int:
        """How many of the products, the first ones, so many positions need."""
        runs = _tap_runs(self.taps, self.stride, self.runs)
        return sum(min(output, self.output) + len(run) - 1 for run in runs)

    def part(self, output: int) -> tuple[np.ndarray, np.ndarray]:
        """A and B of the first products for the first `output` positions: `y = A ((G w) * (B x))`
        with as many of the products as A has columns."""
        products = _products_of(
            output, self.taps, self.stride, self.runs, self.output, self.in_call
        )
        return _matrix_of([p.a for p in products]).T, _matrix_of([p.b for p in products])


@dataclass(frozen=True)
class _Product:
    """A column of A, a row of G, a row of B; tiles of fewer positions than `needed` do without."""

    needed: int
    a: list[Fraction]
    g: list[Fraction]
    b: list[Fraction]


@cache
def bilinear(
    output: int, taps: int, stride: int = 1, runs: int = 1, *, in_call: bool = False
) -> Bilinear:
    """The algorithm for tiles of `output` positions, with the taps (of each parity, for stride 2)
    cut into so many runs; Error if there are not enough points.

    in_call: for weights that are transformed in the call: G has the fewest operations then.
    Otherwise G, which is applied once and in float64, has all that float32 does not hold exactly:
    what constants of A and B round is the same for all positions, and does not average out where a
    network sums over them.
    """
    if stride not in (1, 2):
        raise Error(f"winograd: strides 1 and 2 are known, given {stride}")
    products = _products_of(output, taps, stride, runs, output, in_call)
    a, g, b = (_matrix_of([getattr(p, name) for p in products]) for name in "agb")
    return Bilinear(output, taps, stride, np.ascontiguousarray(a.T), g, b, runs, in_call)


def _matrix_of(rows: Sequence[Sequence[Fraction]]) -> np.ndarray:
    return np.array(rows, np.float64)


def _cook_toom(output: int, taps: int, most: int, in_call: bool) -> tuple[_Matrix, ...]:
    """A, G, B for infinity and the first of the finite points of an algorithm of `most` outputs.

    G is that of the algorithm of `most` outputs, whatever other points there are.  The factor of
    each point is in G, or `in_call` among the constants of A, and for zero of B, where it costs
    nothing.
    """
    if taps == 1:
        identity = [[Fraction(int(i == j)) for j in range(output)] for i in range(output)]
        return identity, [[Fraction(1)] for _ in range(output)], identity
    if most + taps - 2 not in _POINTS:
        raise Error(f"winograd: {most} outputs of {taps} taps need {most + taps - 2} points")
    every = [Fraction(text) for text in _POINTS[most + taps - 2]]
    points = every[: output + taps - 2]
    one, zero = Fraction(1), Fraction(0)
    own, whole = ([_distances(p, among) for p in points] for among in (points, every))
    if in_call:
        of_g = [one] * len(points)
        of_a = [one / f if p else one for p, f in zip(points, own, strict=True)]
        of_b = [one if p else one / f for p, f in zip(points, own, strict=True)]
    else:
        of_g = [one / f for f in whole]
        of_a = [f / part for f, part in zip(whole, own, strict=True)]
        of_b = [one] * len(points)
    a = [
        [Fraction(int(i == output - 1)), *(p**i * s for p, s in zip(points, of_a, strict=True))]
        for i in range(output)
    ]
    g = [[zero] * (taps - 1) + [one]]
    g += [[p**j * s for j in range(taps)] for p, s in zip(points, of_g, strict=True)]
    b = [_polynomial(points)]
    b += [
        [*(c * s for c in _polynomial([q for q in points if q != p])), zero]
        for p, s in zip(points, of_b, strict=True)
    ]
    return a, g, b


def _distances(point: Fraction, points: Sequence[Fraction]) -> Fraction:
    """The product of the distances to all other points."""
    return _product([point - other for other in points if other != point])


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


def _products_of(
    output: int, taps: int, stride: int, runs: int, most: int, in_call: bool
) -> list[_Product]:
    """The products of an algorithm, a sum of some of stride 1 on elements of one parity: what an
    algorithm of `most` outputs has, as far as `output` of them need it, and in its order."""
    reach = stride * (most - 1) + taps
    zero = Fraction(0)
    found: list[_Product] = []
    for run in _tap_runs(taps, stride, runs):
        a, g, b = _cook_toom(output, len(run), most, in_call)
        for i, (tap_row, data_row) in enumerate(zip(g, b, strict=True)):
            line, data = [zero] * taps, [zero] * reach
            line[run.start : run.stop : stride] = tap_row
            data[run.start : run.start + stride * len(data_row) : stride] = data_row
            found.append(_Product(i + 2 - len(run), [row[i] for row in a], line, data))
    return sorted(found, key=lambda product: product.needed)


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


class _Tiling:
    """The tiles of an algorithm along an axis of `size` output positions.

    If they do not divide a known size, the last has an algorithm for fewer positions
    (`Bilinear.part`): its matrices follow those of the others, and have zeros for the products it
    does without.  positions: output positions of a tile, and of the last if it has others.
    """

    def __init__(self, algorithm: Bilinear, size: int | PrimExpr):
        self.algorithm = algorithm
        self.a, self.b = algorithm.a, algorithm.b
        self.has_part = False
        output = self.positions = algorithm.output
        if not isinstance(size, int):
            self.tiles: Any = O.floordiv(O.add(size, output - 1), output)
            return
        self.tiles = -(-size // output)
        self.has_part = self.tiles > 1 and size % output > 0
        if self.has_part:
            self.positions += size % output
            a, b = algorithm.part(size % output)
            self.a = np.vstack([self.a, _enlarged(a, self.a.shape)])
            self.b = np.vstack([self.b, _enlarged(b, self.b.shape)])

    def reach(self) -> Any:
        """Elements that all tiles read."""
        algorithm = self.algorithm
        if isinstance(self.tiles, int):
            return (self.tiles - 1) * algorithm.step + algorithm.reach
        before = O.multiply(O.subtract(self.tiles, 1), algorithm.step)
        return O.add(before, algorithm.reach)

    def data_row(self, product: Any, tile: Any) -> PrimExpr:
        """The row of `b` for a product of a tile."""
        return self._of_tile(product, tile, self.algorithm.products)

    def output_row(self, position: Any, tile: Any) -> PrimExpr:
        """The row of `a` for a position in a tile."""
        return self._of_tile(position, tile, self.algorithm.output)

    def _of_tile(self, row: Any, tile: Any, rows: int) -> PrimExpr:
        if not self.has_part:
            return row
        return O.add(O.multiply(O.floordiv(tile, self.tiles - 1), rows), row)


def _enlarged(matrix: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A matrix with zeros after its rows and columns."""
    return np.pad(matrix, [(0, n - m) for n, m in zip(shape, matrix.shape, strict=True)])


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
    `padding` is (top, left): what else surrounds the data follows from the sizes, which may be
    symbols for strides of one."""
    axes = (_Tiling(rows, _known(sizes[0])), _Tiling(columns, _known(sizes[1])))
    wanted = [axis.reach() for axis in axes]
    after = [
        _minus(_minus(w, low), _known(n))
        for w, low, n in zip(wanted, padding, data.shape[1:3], strict=True)
    ]
    if any(padding) or any(not isinstance(n, int) or n for n in after):
        data = pad(data, [0, *padding, 0], [0, *after, 0], name="pad_temp")
    transformed = _transformed_data(data, *axes, wanted[1])
    if transform:
        weight = _transformed_weight(weight, rows, columns)
    return _output(_products(transformed, weight), *axes, sizes)


def _known(size: PrimExpr | int) -> PrimExpr | int:
    """A size as a number, if it is one."""
    number = as_int(size)
    return size if number is None else number


def _minus(size: PrimExpr | int, less: PrimExpr | int) -> PrimExpr | int:
    if isinstance(size, int) and isinstance(less, int):
        return size - less
    return O.subtract(size, less)


def _pair_of_matrices(
    first: np.ndarray, second: np.ndarray, dtype: str, name: str
) -> tuple[Tensor, Tensor]:
    """The matrices for rows and columns, one where they are equal."""
    rows = constant_matrix(first, dtype, f"{name}_rows")
    if np.array_equal(first, second):
        return rows, rows
    return rows, constant_matrix(second, dtype, f"{name}_columns")


def _transformed_data(data: Tensor, rows: _Tiling, columns: _Tiling, width: int) -> Tensor:
    """Tiles of data [N, H, W, C] as [P, Q, N, tiles of rows, tiles of columns, C]."""
    batch, channels = data.shape[0], data.shape[3]
    b_rows, b_columns = _pair_of_matrices(rows.b, columns.b, data.dtype, "B")
    down, right = rows.algorithm, columns.algorithm
    i, j = reduce_axis((0, down.reach), "i"), reduce_axis((0, right.reach), "j")

    def along_rows(p: Any, n: Any, th: Any, x: Any, c: Any) -> PrimExpr:
        element = data(n, O.add(O.multiply(th, down.step), i.var), x, c)
        return te_sum(O.multiply(b_rows(rows.data_row(p, th), i.var), element), axis=i)

    shape = [down.products, batch, rows.tiles, width, channels]
    half = compute(shape, along_rows, "input_rows")

    def along_columns(p: Any, q: Any, n: Any, th: Any, tw: Any, c: Any) -> PrimExpr:
        element = half(p, n, th, O.add(O.multiply(tw, right.step), j.var), c)
        return te_sum(O.multiply(b_columns(columns.data_row(q, tw), j.var), element), axis=j)

    shape = [down.products, right.products, batch, rows.tiles, columns.tiles, channels]
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


def _output(
    products: Tensor, rows: _Tiling, columns: _Tiling, sizes: Sequence[PrimExpr | int]
) -> Tensor:
    """Products transformed back to [N, *sizes, O]."""
    # A whole number of rows of tiles is made, but only the columns that there are.
    across = columns.a[: columns.positions]
    a_rows, a_columns = _pair_of_matrices(rows.a, across, products.dtype, "A")
    down, right = rows.algorithm, columns.algorithm
    p, q = reduce_axis((0, down.products), "p"), reduce_axis((0, right.products), "q")

    def along_rows(y: Any, q: Any, n: Any, th: Any, tw: Any, o: Any) -> PrimExpr:
        factor = a_rows(rows.output_row(y, th), p.var)
        return te_sum(O.multiply(factor, products(p.var, q, n, th, tw, o)), axis=p)

    half = compute([down.output, *products.shape[1:]], along_rows, "output_rows")

    def along_columns(n: Any, h: Any, w: Any, o: Any) -> PrimExpr:
        th, tw = O.floordiv(h, down.output), O.floordiv(w, right.output)
        factor = a_columns(columns.output_row(O.floormod(w, right.output), tw), q.var)
        element = half(O.floormod(h, down.output), q.var, n, th, tw, o)
        return te_sum(O.multiply(factor, element), axis=q)

    shape = [products.shape[2], *sizes, products.shape[5]]
    return compute(shape, along_columns, "conv2d_winograd", "conv2d_winograd_nhwc")
