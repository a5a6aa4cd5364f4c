"""Recognising Winograd convolutions: transforms by constant matrices around products.

The chain, each link the only reader of the temporary before it, is what
`topi.nn.conv2d_winograd_nhwc` computes:

    T[p, n, th, x, c]    += B[p, i]    * data[n, th * step + i, x, c]
    V[p, q, n, th, tw, c] += B'[q, j]   * T[p, n, th, tw * step' + j, c]
    M[p, q, n, th, tw, o] += V[p, q, n, th, tw, c] * weight[p, q, c, o]
    R[y, q, n, th, tw, o] += A[y, p]    * M[p, q, n, th, tw, o]
    out[n, h, w, o]       += A'[w mod m', q] * R[h mod m, q, n, h / m, w / m', o]

with matrices that the program makes of constants.  Where the tiles do not divide an axis, the last
of them, for fewer positions, has matrices of its own, which follow those of the others: `p` is
`p + (th / (tiles - 1)) * P` then for B, and so on.  The weight may also be in panels
`weight[o / W, p, q, c, o mod W]`.  The weight may be made by two more,

    S[p, s, c, o]         += G[p, r]    * taps[r, s, c, o]
    weight[p, q, c, o]    += G'[q, s]   * S[p, s, c, o]

with the taps also in panels `taps[o / W, c, r, s, o mod W]`.  The data may be padded as for any
convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding, find_padding
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_chain import (
    ChainMatcher,
    Mismatch,
    PartOfTile,
    WinogradAxis,
    dims_of,
    is_product,
    known_sizes,
    map_of,
    maps_of,
    require,
    static_sizes,
    step_of,
)
from relax_mlir.mlir import dynamic, ir

__all__ = ["WeightTransform", "Winograd", "match_winograd"]


@dataclass(frozen=True)
class WeightTransform:
    """The matrices that transform a weight along its rows and columns: products x taps."""

    rows: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True)
class Winograd:
    """A Winograd convolution of data [N, H, W, C] into out [N, *lengths, O].

    last: the operation that computes `out`; fill: the one that fills `out` with zeros before;
    members: what else the chain takes.
    panel: output channels of a panel of the weight, None for a weight [p, q, C, O].
    transform: what the weight, [kh, kw, C, O] or [O / panel, C, kh, kw, panel], has to be
    transformed by; None if it is transformed.
    """

    data: ir.Value
    weight: ir.Value
    out: ir.Value
    rows: WinogradAxis
    columns: WinogradAxis
    channels: int
    outputs: int
    panel: int | None
    last: ir.Operation
    fill: ir.Operation
    members: tuple[ir.Operation, ...]
    transform: WeightTransform | None = None

    @property
    def is_of_any_size(self) -> bool:
        """Whether only run time knows the size of the image."""
        return self.rows.is_of_any_size or self.columns.is_of_any_size

    @property
    def count(self) -> int:
        """Products of a tile."""
        return self.rows.products * self.columns.products


def match_winograd(first: ir.Operation, uses: BufferUses) -> Winograd | None:
    """The chain that begins with an operation; None if it begins none."""
    try:
        return _Matcher(first, uses).match()
    except Mismatch:
        return None


@dataclass(frozen=True)
class _Weight:
    value: ir.Value
    panel: int | None
    transform: WeightTransform | None = None


@dataclass(frozen=True)
class _TiledAxis:
    """`tiles` of `products` products, `step` apart, whose data a matrix transforms; if it has twice
    as many rows, these are those of the last tile."""

    matrix: np.ndarray
    step: int
    tiles: int
    products: int

    @property
    def has_last(self) -> bool:
        return self.tiles > 1 and self.matrix.shape[0] == 2 * self.products

    def last_tile(self, tile: ir.AffineExpr) -> ir.AffineExpr:
        """What is one for the last tile, zero for the others."""
        return ir.AffineExpr.get_floor_div(tile, max(1, self.tiles - 1))

    def with_output(self, a: np.ndarray, output: int, sizes: tuple[int, int, int]) -> WinogradAxis:
        """The axis with the matrix that transforms products back, to `output` positions of a tile.
        sizes: elements of data, zeros before them, and output positions."""
        size, low, length = sizes
        b, rest = self.matrix, length - (self.tiles - 1) * output
        require(self.step >= 1 and a.shape[1] == self.products)
        require(dynamic() in (size, length, self.tiles) or 0 < rest <= output)
        last = None
        if self.has_last:
            own = a[output : output + rest]
            require(len(own) == rest and bool(own.any()))
            used = int(np.flatnonzero(own.any(axis=0))[-1]) + 1
            data = b[self.products :][:used]
            require(bool(data.any()))
            read = int(np.flatnonzero(data.any(axis=0))[-1]) + 1
            last = PartOfTile(own[:, :used], data[:, :read])
        require(b.shape[0] == self.products * (1 if last is None else 2))
        a, b = a[:output], b[: self.products]
        require(a.shape[0] == output)
        return WinogradAxis(a, b, self.step, self.tiles, size, low, length, last)


class _Matcher(ChainMatcher):
    def match(self) -> Winograd:
        rows_in = self.first
        require(is_product(rows_in, 6))
        rows = self._input(rows_in, 0)
        columns_in = self.next(rows_in)
        require(is_product(columns_in, 7))
        columns = self._input(columns_in, 1)
        product = self.next(columns_in)
        weight = self._weight(product)
        rows_out = self.next(product)
        require(is_product(rows_out, 7))
        maps = maps_of(rows_out)
        dims = dims_of(7)
        require(maps[1] == map_of(7, [dims[6], *dims[1:6]]) and maps[2] == map_of(7, dims[:6]))
        a_rows = self.matrix(rows_out)
        output = a_rows.shape[0] // (2 if rows.has_last else 1)
        at = maps[0].results[0]
        require(maps[0] == map_of(7, [at, dims[6]]))
        require(is_of_tile(at, dims[0], rows.last_tile(dims[3]), output) == rows.has_last)
        last = self.next(rows_out)
        a_columns, width = self._output(last, output, columns)
        for op in list(self.members):
            self.matrices.append(self.fill(op))
        padding = find_padding(rows_in.operands[1], rows_in, self.uses)
        axes = ((rows, a_rows, output), (columns, a_columns, width))
        return self._result(axes, weight, padding, last)

    def _result(
        self,
        tiled: Sequence[tuple[_TiledAxis, np.ndarray, int]],
        weight: _Weight,
        padding: Padding | None,
        last: ir.Operation,
    ) -> Winograd:
        data = self.order[0].operands[1] if padding is None else padding.source
        shape = known_sizes(data, 1)
        out = last.operands[2]
        lengths = known_sizes(out, 1)
        require(dynamic() not in (shape[2], lengths[2]))
        lows = (0, 0, 0, 0) if padding is None else padding.low
        require(lows[0] == 0 and lows[3] == 0)
        axes = [
            axis.with_output(a, output, (shape[i], lows[i + 1], lengths[i]))
            for i, (axis, a, output) in enumerate(tiled)
        ]
        is_of_any_size = any(axis.is_of_any_size for axis in axes)
        require(not is_of_any_size or weight.transform is None)
        borders = () if padding is None else padding.members
        read = [data, weight.value]
        require(not any(self.uses.may_overlap(out, value) for value in read))
        self.nothing_between(read, last)
        return Winograd(
            data, weight.value, out, axes[0], axes[1], shape[2], lengths[2], weight.panel, last,
            self.fill(last),
            (*self.matrices, *self.weight_members, *borders, *self.members),
            weight.transform,
        )  # fmt: skip

    # Links

    def _input(self, op: ir.Operation, axis: int) -> _TiledAxis:
        """A transform of the data along an axis."""
        count = 6 + axis
        dims, maps = dims_of(count), maps_of(op)
        tap, line = dims[count - 1], maps[1].results[1 + 2 * axis]
        tile = dims[2 + 2 * axis]
        step = step_of(line, tile)
        place = (tile * step + tap).maybe_downcast()
        if axis == 0:
            expected = [dims[1], place, dims[3], dims[4]]
        else:
            expected = [dims[0], dims[2], dims[3], place, dims[5]]
        require(maps[1] == map_of(count, expected) and maps[2] == map_of(count, dims[:-1]))
        (products,) = static_sizes(op.operands[2], axis, 1)
        (tiles,) = known_sizes(op.operands[2], 2 + 2 * axis, 1)
        tiled = _TiledAxis(self.matrix(op), step, tiles, products)
        at = maps[0].results[0]
        require(maps[0] == map_of(count, [at, tap]))
        has_last = is_of_tile(at, dims[axis], tiled.last_tile(tile), tiled.products)
        require(has_last == tiled.has_last)
        return tiled

    def _weight(self, op: ir.Operation) -> _Weight:
        """The weight of the products, as it is before the operations that transform it."""
        require(is_product(op, 7))
        dims, maps = dims_of(7), maps_of(op)
        require(maps[0] == map_of(7, [*dims[:5], dims[6]]) and maps[2] == map_of(7, dims[:6]))
        p, q, o, c = dims[0], dims[1], dims[5], dims[6]
        if maps[1] == map_of(7, [p, q, c, o]):
            if self.uses.is_temporary(op.operands[1]):
                return self._transformed_weight(op)
            return _Weight(op.operands[1], None)
        width = ir.MemRefType(op.operands[1].type).shape[-1]
        outer, inner = ir.AffineExpr.get_floor_div(o, width), ir.AffineExpr.get_mod(o, width)
        if maps[1] == map_of(7, [outer, p, q, c, inner]):
            return _Weight(op.operands[1], width)
        # A single panel.
        zero = ir.AffineConstantExpr.get(0)
        require(maps[1] == map_of(7, [zero, p, q, c, o]))
        return _Weight(op.operands[1], width)

    def _transformed_weight(self, product: ir.Operation) -> _Weight:
        """The weight that two operations transform, along its rows and then its columns."""
        columns_op = self._maker(product.operands[1], product)
        dims = dims_of(5)
        first, second, c, o, tap = dims
        maps = maps_of(columns_op)
        require(maps[0] == map_of(5, [second, tap]) and maps[2] == map_of(5, dims[:4]))
        require(maps[1] == map_of(5, [first, tap, c, o]))
        rows_op = self._maker(columns_op.operands[1], columns_op)
        maps = maps_of(rows_op)
        require(maps[0] == map_of(5, [first, tap]) and maps[2] == map_of(5, dims[:4]))
        transform = WeightTransform(self.matrix(rows_op), self.matrix(columns_op))
        weight = rows_op.operands[1]
        if maps[1] == map_of(5, [tap, second, c, o]):
            return _Weight(weight, None, transform)
        width = ir.MemRefType(weight.type).shape[-1]
        panel, inside = ir.AffineExpr.get_floor_div(o, width), ir.AffineExpr.get_mod(o, width)
        if maps[1] == map_of(5, [panel, c, tap, second, inside]):
            return _Weight(weight, width, transform)
        # A single panel.
        zero = ir.AffineConstantExpr.get(0)
        require(maps[1] == map_of(5, [zero, c, tap, second, o]))
        return _Weight(weight, width, transform)

    def _maker(self, buffer: ir.Value, reader: ir.Operation) -> ir.Operation:
        """The transform of the weight that alone writes a temporary, which one operation reads."""
        require(self.uses.is_temporary(buffer))
        users = self.uses.remaining_users(buffer, reader)
        makers = [user for user in users if user.name != "linalg.fill"]
        require(len(makers) == 1 and len(users) == 2)
        maker = makers[0]
        require(maker.name == "linalg.generic" and buffer in outputs_of(maker))
        require(is_product(maker, 5) and maker.block == reader.block)
        require(maker.is_before_in_block(reader))
        self.weight_members += [self.fill(maker), maker]
        return maker

    def _output(
        self, op: ir.Operation, output_h: int, columns: _TiledAxis
    ) -> tuple[np.ndarray, int]:
        """The matrix of the last operation, and the columns of a tile."""
        require(is_product(op, 5))
        a = self.matrix(op)
        dims, maps = dims_of(5), maps_of(op)
        n, h, w, o, q = dims
        width = divisor_of(maps[1].results[4])
        inside_h, inside_w = (
            ir.AffineExpr.get_mod(h, output_h),
            ir.AffineExpr.get_mod(w, width),
        )
        tiles = [ir.AffineExpr.get_floor_div(h, output_h), ir.AffineExpr.get_floor_div(w, width)]
        at = maps[0].results[0]
        require(maps[0] == map_of(5, [at, q]) and maps[2] == map_of(5, [n, h, w, o]))
        # Of two tiles each position has a row of its own.
        every = columns.has_last and columns.tiles == 2 and at == w
        last = columns.last_tile(tiles[1])
        require(every or is_of_tile(at, inside_w, last, width) == columns.has_last)
        require(maps[1] == map_of(5, [inside_h, q, n, *tiles, o]))
        return a, width


def divisor_of(tile: ir.AffineExpr) -> int:
    """By what a position is divided to get its tile."""
    require(isinstance(tile, ir.AffineFloorDivExpr))
    require(isinstance(tile.rhs, ir.AffineConstantExpr) and tile.rhs.value > 0)
    return tile.rhs.value


def is_of_tile(found: ir.AffineExpr, row: ir.AffineExpr, last: ir.AffineExpr, rows: int) -> bool:
    """Whether an index is `row`, and for the last tile `row + rows`; raises Mismatch if it is
    neither that nor `row` for all tiles."""
    if found == row:
        return False
    behind = last * rows
    require(found == behind + row or found == row + behind)
    return True
