"""Recognising Winograd convolutions: transforms by constant matrices around products.

The chain, each link the only reader of the temporary before it, is what
`topi.nn.conv2d_winograd_nhwc` computes:

    T[p, n, th, x, c]    += B[p, i]    * data[n, th * step + i, x, c]
    V[p, q, n, th, tw, c] += B'[q, j]   * T[p, n, th, tw * step' + j, c]
    M[p, q, n, th, tw, o] += V[p, q, n, th, tw, c] * weight[p, q, c, o]
    R[y, q, n, th, tw, o] += A[y, p]    * M[p, q, n, th, tw, o]
    out[n, h, w, o]       += A'[w mod m', q] * R[h mod m, q, n, h / m, w / m', o]

with matrices that the program makes of constants, and the weight also in panels
`weight[o / W, p, q, c, o mod W]`.  The weight may be made by two more,

    S[p, s, c, o]         += G[p, r]    * taps[r, s, c, o]
    weight[p, q, c, o]    += G'[q, s]   * S[p, s, c, o]

with the taps also in panels `taps[o / W, c, r, s, o mod W]`.  The data may be padded as for any
convolution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.builder import is_zero_constant
from relax_mlir.lowering.linalg_to_vector.convolution.constant_matrix import constant_matrix
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding, find_padding
from relax_mlir.mlir import ir

__all__ = ["WeightTransform", "Winograd", "WinogradAxis", "match_winograd"]

_PRODUCT = ["arith.addf", "arith.mulf", "linalg.yield"]


@dataclass(frozen=True)
class WinogradAxis:
    """One axis: `size` elements of data after `low` zeros, tiles `step` apart.

    a: outputs of a tile x products; b: products x elements that a tile reads.
    """

    a: np.ndarray
    b: np.ndarray
    step: int
    tiles: int
    size: int
    low: int
    length: int

    @property
    def output(self) -> int:
        """Output positions of a tile."""
        return self.a.shape[0]

    @property
    def products(self) -> int:
        return self.b.shape[0]


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
    def count(self) -> int:
        """Products of a tile."""
        return self.rows.products * self.columns.products


def match_winograd(first: ir.Operation, uses: BufferUses) -> Winograd | None:
    """The chain that begins with an operation; None if it begins none."""
    try:
        return _Matcher(first, uses).match()
    except _Mismatch:
        return None


class _Mismatch(Exception):
    pass


@dataclass(frozen=True)
class _Weight:
    value: ir.Value
    panel: int | None
    transform: WeightTransform | None = None


def _require(condition: bool) -> None:
    if not condition:
        raise _Mismatch


class _Matcher:
    def __init__(self, first: ir.Operation, uses: BufferUses):
        self.first = first
        self.uses = uses
        self.members: list[ir.Operation] = []
        self.matrices: list[ir.Operation] = []
        self.weight_members: list[ir.Operation] = []

    def match(self) -> Winograd:
        rows_in = self.first
        _require(_is_product(rows_in, 6))
        b_rows, step_h = self._input(rows_in, 0)
        columns_in = self._next(rows_in)
        _require(_is_product(columns_in, 7))
        b_columns, step_w = self._input(columns_in, 1)
        product = self._next(columns_in)
        weight = self._weight(product)
        rows_out = self._next(product)
        _require(_is_product(rows_out, 7))
        maps = _maps(rows_out)
        dims = _dims(7)
        _require(maps[0] == _map(7, [dims[0], dims[6]]))
        _require(maps[1] == _map(7, [dims[6], *dims[1:6]]) and maps[2] == _map(7, dims[:6]))
        a_rows = self._matrix(rows_out)
        last = self._next(rows_out)
        a_columns = self._output(last, a_rows.shape[0])
        for op in list(self.members):
            self.matrices.append(self._fill(op))
        padding = find_padding(rows_in.operands[1], rows_in, self.uses)
        return self._result(
            (a_rows, b_rows, step_h), (a_columns, b_columns, step_w), weight, padding, last
        )

    def _result(
        self,
        rows: tuple[np.ndarray, np.ndarray, int],
        columns: tuple[np.ndarray, np.ndarray, int],
        weight: _Weight,
        padding: Padding | None,
        last: ir.Operation,
    ) -> Winograd:
        rows_in, columns_in = self.order[:2]
        data = rows_in.operands[1] if padding is None else padding.source
        shape = _static(data, 1)
        out = last.operands[2]
        lengths = _static(out, 1)
        tiles = list(ir.MemRefType(columns_in.operands[2].type).shape)[3:5]
        lows = (0, 0, 0, 0) if padding is None else padding.low
        _require(lows[0] == 0 and lows[3] == 0)
        axes: list[WinogradAxis] = []
        for i, (a, b, step) in enumerate((rows, columns)):
            _require(step >= 1 and a.shape[1] == b.shape[0])
            axes.append(WinogradAxis(a, b, step, tiles[i], shape[i], lows[i + 1], lengths[i]))
        borders = () if padding is None else padding.members
        read = [data, weight.value]
        _require(not any(self.uses.may_overlap(out, value) for value in read))
        self._nothing_between(read, last)
        return Winograd(
            data, weight.value, out, axes[0], axes[1], shape[2], lengths[2], weight.panel, last,
            self._fill(last),
            (*self.matrices, *self.weight_members, *borders, *self.members),
            weight.transform,
        )  # fmt: skip

    # Links

    @property
    def order(self) -> list[ir.Operation]:
        return [op for op in self.members if op.name == "linalg.generic"]

    def _next(self, op: ir.Operation) -> ir.Operation:
        """The only reader of what an operation writes, a temporary of its own."""
        self.members.append(op)
        buffer = op.operands[2]
        _require(self.uses.is_temporary(buffer))
        users = self.uses.remaining_users(buffer, op)
        readers = [user for user in users if user.name != "linalg.fill"]
        _require(len(readers) == 1 and len(users) == 2)
        reader = readers[0]
        _require(reader.name == "linalg.generic" and reader.block == op.block)
        _require(op.is_before_in_block(reader) and buffer not in outputs_of(reader))
        return reader

    def _fill(self, op: ir.Operation) -> ir.Operation:
        """The fill with zero of what an operation writes."""
        fills = [
            user
            for user in self.uses.remaining_users(op.operands[2], op)
            if user.name == "linalg.fill" and user.is_before_in_block(op)
        ]
        _require(len(fills) == 1 and is_zero_constant(fills[0].operands[0]))
        _require(fills[0].block == op.block)
        return fills[0]

    def _matrix(self, op: ir.Operation) -> np.ndarray:
        found = constant_matrix(op.operands[0], self.uses, op)
        if found is None:
            raise _Mismatch
        values, maker = found
        if not any(maker == known for known in self.matrices):
            self.matrices.append(maker)
        return values

    def _input(self, op: ir.Operation, axis: int) -> tuple[np.ndarray, int]:
        """A transform of the data along an axis: the matrix, and from tile to tile."""
        count = 6 + axis
        dims, maps = _dims(count), _maps(op)
        tap, line = dims[count - 1], maps[1].results[1 + 2 * axis]
        tile = dims[2 + 2 * axis]
        step = _step(line, tile)
        place = (tile * step + tap).maybe_downcast()
        if axis == 0:
            expected = [dims[1], place, dims[3], dims[4]]
        else:
            expected = [dims[0], dims[2], dims[3], place, dims[5]]
        _require(maps[0] == _map(count, [dims[axis], tap]))
        _require(maps[1] == _map(count, expected) and maps[2] == _map(count, dims[:-1]))
        return self._matrix(op), step

    def _weight(self, op: ir.Operation) -> _Weight:
        """The weight of the products, as it is before the operations that transform it."""
        _require(_is_product(op, 7))
        dims, maps = _dims(7), _maps(op)
        _require(maps[0] == _map(7, [*dims[:5], dims[6]]) and maps[2] == _map(7, dims[:6]))
        p, q, o, c = dims[0], dims[1], dims[5], dims[6]
        if maps[1] == _map(7, [p, q, c, o]):
            if self.uses.is_temporary(op.operands[1]):
                return self._transformed_weight(op)
            return _Weight(op.operands[1], None)
        width = ir.MemRefType(op.operands[1].type).shape[-1]
        outer, inner = ir.AffineExpr.get_floor_div(o, width), ir.AffineExpr.get_mod(o, width)
        if maps[1] == _map(7, [outer, p, q, c, inner]):
            return _Weight(op.operands[1], width)
        # A single panel.
        zero = ir.AffineConstantExpr.get(0)
        _require(maps[1] == _map(7, [zero, p, q, c, o]))
        return _Weight(op.operands[1], width)

    def _transformed_weight(self, product: ir.Operation) -> _Weight:
        """The weight that two operations transform, along its rows and then its columns."""
        columns_op = self._maker(product.operands[1], product)
        dims = _dims(5)
        first, second, c, o, tap = dims
        maps = _maps(columns_op)
        _require(maps[0] == _map(5, [second, tap]) and maps[2] == _map(5, dims[:4]))
        _require(maps[1] == _map(5, [first, tap, c, o]))
        rows_op = self._maker(columns_op.operands[1], columns_op)
        maps = _maps(rows_op)
        _require(maps[0] == _map(5, [first, tap]) and maps[2] == _map(5, dims[:4]))
        transform = WeightTransform(self._matrix(rows_op), self._matrix(columns_op))
        weight = rows_op.operands[1]
        if maps[1] == _map(5, [tap, second, c, o]):
            return _Weight(weight, None, transform)
        width = ir.MemRefType(weight.type).shape[-1]
        panel, inside = ir.AffineExpr.get_floor_div(o, width), ir.AffineExpr.get_mod(o, width)
        if maps[1] == _map(5, [panel, c, tap, second, inside]):
            return _Weight(weight, width, transform)
        # A single panel.
        zero = ir.AffineConstantExpr.get(0)
        _require(maps[1] == _map(5, [zero, c, tap, second, o]))
        return _Weight(weight, width, transform)

    def _maker(self, buffer: ir.Value, reader: ir.Operation) -> ir.Operation:
        """The transform of the weight that alone writes a temporary, which one operation reads."""
        _require(self.uses.is_temporary(buffer))
        users = self.uses.remaining_users(buffer, reader)
        makers = [user for user in users if user.name != "linalg.fill"]
        _require(len(makers) == 1 and len(users) == 2)
        maker = makers[0]
        _require(maker.name == "linalg.generic" and buffer in outputs_of(maker))
        _require(_is_product(maker, 5) and maker.block == reader.block)
        _require(maker.is_before_in_block(reader))
        self.weight_members += [self._fill(maker), maker]
        return maker

    def _output(self, op: ir.Operation, output_h: int) -> np.ndarray:
        _require(_is_product(op, 5))
        a = self._matrix(op)
        dims, maps = _dims(5), _maps(op)
        n, h, w, o, q = dims
        width = a.shape[0]
        inside_h, inside_w = (
            ir.AffineExpr.get_mod(h, output_h),
            ir.AffineExpr.get_mod(w, width),
        )
        tiles = [ir.AffineExpr.get_floor_div(h, output_h), ir.AffineExpr.get_floor_div(w, width)]
        _require(maps[0] == _map(5, [inside_w, q]) and maps[2] == _map(5, [n, h, w, o]))
        _require(maps[1] == _map(5, [inside_h, q, n, *tiles, o]))
        return a

    def _nothing_between(self, read: list[ir.Value], last: ir.Operation) -> None:
        """Nothing else writes what is read, from the first of the chain to its end."""
        mine = [*self.members, *self.matrices, *self.weight_members, self._fill(last), last]
        start = self.matrices[0]
        for op in (*self.matrices, *self.weight_members, *self.members):
            start = op if op.is_before_in_block(start) else start
        for view in start.block.operations:
            op = view.operation
            if not start.is_before_in_block(op) or not op.is_before_in_block(last):
                continue
            if any(op == own for own in mine):
                continue
            # A matrix is read by this chain alone, since it goes with it.
            _require(
                not any(
                    m.operands[0] in self.uses.buffers_of(op)
                    for m in self.matrices
                    if m.name == "linalg.generic"
                )
            )
            written = self.uses.written_by(op)
            _require(not any(self.uses.may_overlap(w, r) for w in written for r in read))


def _is_product(op: ir.Operation, rank: int) -> bool:
    """Whether an operation adds products of two inputs over its last dimension."""
    if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return False
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    if kinds != [False] * (rank - 1) + [True]:
        return False
    if not all(isinstance(value.type, ir.MemRefType) for value in op.operands):
        return False
    block = op.regions[0].blocks[0]
    body = [view.operation for view in block.operations]
    if sorted(inner.name for inner in body) != _PRODUCT:
        return False
    if not all(isinstance(argument.type, ir.F32Type) for argument in block.arguments):
        return False
    multiply, add, end = body
    factors, terms = set(multiply.operands), set(add.operands)
    return (
        multiply.name == "arith.mulf"
        and factors == set(list(block.arguments)[:2])
        and terms == {block.arguments[2], multiply.result}
        and end.operands[0] == add.result
    )


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [attribute.value for attribute in op.attributes["indexing_maps"]]


def _dims(count: int) -> list[ir.AffineExpr]:
    return [ir.AffineDimExpr.get(i) for i in range(count)]


def _map(count: int, results: list[ir.AffineExpr]) -> ir.AffineMap:
    return ir.AffineMap.get(count, 0, results)


def _step(line: ir.AffineExpr, tile: ir.AffineExpr) -> int:
    """The factor of `tile` in `tile * step + tap`."""
    _require(isinstance(line, ir.AffineAddExpr))
    for side in (line.lhs, line.rhs):
        if side == tile:
            return 1
        if isinstance(side, ir.AffineMulExpr) and side.lhs == tile:
            _require(isinstance(side.rhs, ir.AffineConstantExpr))
            return side.rhs.value
    raise _Mismatch


def _static(buffer: ir.Value, first: int) -> list[int]:
    """The sizes of a buffer from a dimension on, which have to be known."""
    type_ = ir.MemRefType(buffer.type)
    _require(not any(type_.is_dynamic_dim(i) for i in range(first, type_.rank)))
    return list(type_.shape)[first:]
