"""Recognising Winograd convolutions along one axis.

The chain, each link the only reader of the temporary before it, is what
`topi.nn.conv2d_winograd_1d_nhwc` computes, for an algorithm along columns:

    V[q, n, y, t, c] += B[q, j] * data[n, y, t * step + j, c]
    M[q, n, d, t, o] += V[q, n, d * stride + r, t, c] * weight[q, r, c, o]
    out[n, h, w, o]  += A[w mod m, q] * M[q, n, h, w / m, o]

and with rows and columns exchanged in `data` and `out` for one along rows; or what
`topi.nn.conv1d_winograd_nwc` does, the same without rows (`y`, `d`, `r` and `h`).  The matrices are
constants of the program; the weight may be in panels `weight[o / W, q, r, c, o mod W]`.  The data
may be padded as for any convolution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses
from relax_mlir.lowering.linalg_to_vector.convolution.padding import find_padding
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_chain import (
    ChainMatcher,
    Mismatch,
    WinogradAxis,
    dims_of,
    is_product,
    map_of,
    maps_of,
    require,
    static_sizes,
    step_of,
)
from relax_mlir.mlir import ir

_Results = list[ir.AffineExpr]

__all__ = ["SummedAxis", "Winograd1D", "match_winograd_1d"]


@dataclass(frozen=True)
class SummedAxis:
    """The axis whose taps are summed: `size` elements of data after `low` zeros, `length` outputs
    that are `stride` apart."""

    taps: int
    stride: int
    size: int
    low: int
    length: int


@dataclass(frozen=True)
class Winograd1D:
    """A Winograd convolution of data [N, H, W, C] into out [N, H', W', O] along `direction`, 0 for
    rows (`axis` is H), 1 for columns.  Where they have no rows, `is_line`, they count as one.

    panel: output channels of a panel of the weight, None for a weight [q, r, C, O].
    last: the operation that computes `out`; fill: the one that fills `out` with zeros before;
    members: what else the chain takes.
    """

    data: ir.Value
    weight: ir.Value
    out: ir.Value
    direction: int
    axis: WinogradAxis
    summed: SummedAxis
    channels: int
    outputs: int
    panel: int | None
    last: ir.Operation
    fill: ir.Operation
    members: tuple[ir.Operation, ...]
    is_line: bool = False


def match_winograd_1d(first: ir.Operation, uses: BufferUses) -> Winograd1D | None:
    """The chain that begins with an operation; None if it begins none."""
    try:
        return _Matcher(first, uses).match()
    except Mismatch:
        return None


class _Matcher(ChainMatcher):
    is_line = False

    def match(self) -> Winograd1D:
        first = self.first
        self.is_line = is_product(first, 5)
        require(self.is_line or is_product(first, 6))
        direction, step = self._input(first)
        b = self.matrix(first)
        product = self.next(first)
        stride, taps, panel = self._products(product)
        last = self.next(product)
        a = self._output(last, direction)
        require(step >= 1 and a.shape[1] == b.shape[0])
        for op in list(self.members):
            self.matrices.append(self.fill(op))
        padding = find_padding(first.operands[1], first, self.uses)
        data = first.operands[1] if padding is None else padding.source
        weight, out = product.operands[1], last.operands[2]
        read = [data, weight]
        require(not any(self.uses.may_overlap(out, value) for value in read))
        self.nothing_between(read, last)
        rank = ir.MemRefType(data.type).rank
        lows = (0,) * rank if padding is None else padding.low
        require(lows[0] == 0 and lows[-1] == 0)
        one = [1] if self.is_line else []
        shape, lengths = one + static_sizes(data, 1), one + static_sizes(out, 1)
        before = [0] * len(one) + list(lows[1:-1])
        other = 1 - direction
        transformed = first.operands[2]
        tiles = static_sizes(transformed, ir.MemRefType(transformed.type).rank - 2, 1)[0]
        borders = () if padding is None else padding.members
        return Winograd1D(
            data=data,
            weight=weight,
            out=out,
            direction=direction,
            axis=WinogradAxis(
                a, b, step, tiles, shape[direction], before[direction], lengths[direction]
            ),
            summed=SummedAxis(taps, stride, shape[other], before[other], lengths[other]),
            channels=shape[2],
            outputs=lengths[2],
            panel=panel,
            last=last,
            fill=self.fill(last),
            members=(*self.matrices, *borders, *self.members),
            is_line=self.is_line,
        )

    def _with_row(self, results: list[ir.AffineExpr], place: int, row: ir.AffineExpr) -> _Results:
        """What an operand is indexed by, with the index of the summed axis if there is one."""
        return results if self.is_line else [*results[:place], row, *results[place:]]

    def _input(self, op: ir.Operation) -> tuple[int, int]:
        """The transform of the data: along which axis, and how far it is from tile to tile."""
        count = 5 if self.is_line else 6
        dims, maps = dims_of(count), maps_of(op)
        q, n, y, t, c, j = [*dims[:2], *([dims[0]] if self.is_line else []), *dims[2:]]
        require(maps[0] == map_of(count, [q, j]) and maps[2] == map_of(count, dims[:-1]))
        for direction in (1,) if self.is_line else (0, 1):
            try:
                step = step_of(maps[1].results[1 if self.is_line else 1 + direction], t)
            except Mismatch:
                continue
            at = (t * step + j).maybe_downcast()
            if maps[1] == map_of(count, self._with_row([n, at, c], 1 if direction else 2, y)):
                return direction, step
        raise Mismatch

    def _products(self, op: ir.Operation) -> tuple[int, int, int | None]:
        """The products: stride and taps of the axis that is summed, and the weight's panels."""
        count = 5 if self.is_line else 7
        require(is_product(op, count, 1 if self.is_line else 2))
        dims, maps = dims_of(count), maps_of(op)
        if self.is_line:
            q, n, t, o, c = dims
            d = r = q
            stride = taps = 1
        else:
            q, n, d, t, o, r, c = dims
            taps = static_sizes(op.operands[1], 0)[-3]
            stride = 1 if maps[0].results[2] == d + r else step_of(maps[0].results[2], d)
        require(maps[2] == map_of(count, self._with_row([q, n, t, o], 2, d)))
        at = (d * stride + r).maybe_downcast()
        require(maps[0] == map_of(count, self._with_row([q, n, t, c], 2, at)))
        if maps[1] == map_of(count, self._with_row([q, c, o], 1, r)):
            return stride, taps, None
        width = ir.MemRefType(op.operands[1].type).shape[-1]
        outer, inner = ir.AffineExpr.get_floor_div(o, width), ir.AffineExpr.get_mod(o, width)
        zero = ir.AffineConstantExpr.get(0)
        panels = [self._with_row(x, 2, r) for x in ([outer, q, c, inner], [zero, q, c, o])]
        require(any(maps[1] == map_of(count, results) for results in panels))
        return stride, taps, width

    def _output(self, op: ir.Operation, direction: int) -> np.ndarray:
        count = 4 if self.is_line else 5
        require(is_product(op, count))
        a = self.matrix(op)
        dims, maps = dims_of(count), maps_of(op)
        n, h, w, o, q = [dims[0], *([dims[0]] if self.is_line else []), *dims[1:]]
        along, other = (w, h) if direction else (h, w)
        inside = ir.AffineExpr.get_mod(along, a.shape[0])
        tile = ir.AffineExpr.get_floor_div(along, a.shape[0])
        require(maps[0] == map_of(count, [inside, q]) and maps[2] == map_of(count, dims[:-1]))
        require(maps[1] == map_of(count, self._with_row([q, n, tile, o], 2, other)))
        return a
