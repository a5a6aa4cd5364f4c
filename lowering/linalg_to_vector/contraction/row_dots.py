"""Matrix products whose B is contiguous along K: dot products of rows.

For `x @ W.T` with few rows of `x` (a matrix-vector product above all) W is read once, in the order
it lies in memory, a few of its rows at a time, and every accumulator is a vector along K that is
summed up at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relax_mlir.lowering.linalg_to_vector.body import (
    INLINE_EPILOGUE,
    Combiner,
    body_cost,
    can_widen,
    combiners,
    emit_body,
    narrowed,
    wide_type,
    widened,
    widest_bits,
)
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index, next_power_of_two
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction, for_each_matrix
from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, Access
from relax_mlir.lowering.linalg_to_vector.register_transpose import lane_totals
from relax_mlir.mlir import ir

__all__ = ["emit_matrix_dots", "emit_row_dots", "suits_column_dots", "suits_row_dots", "turned"]

# More rows of A than this are worth packing B for.
_MAX_ROWS = 7
# Rows whose number is only known at run time go one by one, so that B is read for each.
_MAX_DYNAMIC_ROWS = 3
# Rows of B at once, and of A at most (with as many vector registers): each pair has a sum.
_B_ROWS = 4
_A_ROWS = {32: 4, 16: 2}


def suits_row_dots(b: Builder, contraction: Contraction) -> ir.Value | bool:
    """Whether both inputs are contiguous along K and A has few rows; a value at run time where the
    number of rows is not known."""
    con = contraction
    contiguous = all(con.nest.stride(operand, con.k[-1]) == ONE for operand in (con.a, con.b))
    if not contiguous or len(con.k) > 1 or con.nest.stride(con.b, con.column) == ONE:
        return False
    rows = con.extent(con.row)
    if rows.static is not None:
        return rows.static <= _MAX_ROWS
    return b.compare("sle", con.nest.emit_extent(b, rows), _MAX_DYNAMIC_ROWS)


def suits_column_dots(b: Builder, contraction: Contraction) -> ir.Value | bool:
    """Whether B turns out to be a single column, which is then contiguous along K as A is: only
    known at run time, since the nest of a known single column has no column dimension."""
    con = contraction
    if con.row is None or len(con.k) != 1 or con.extent(con.column).static is not None:
        return False
    if con.nest.stride(con.a, con.k[0]) != ONE:
        return False
    return b.compare("eq", con.nest.emit_extent(b, con.nest.stride(con.b, con.k[0])), 1)


def turned(contraction: Contraction) -> Contraction:
    """The same contraction as the product of the transposed matrices."""
    con = contraction
    assert con.row is not None
    return replace(con, a=con.b, b=con.a, row=con.column, column=con.row)


def emit_row_dots(
    b: Builder, contraction: Contraction, target: CPUTarget, initial: ir.Value | None
) -> None:
    """Emit a contraction where `suits_row_dots` holds."""
    for_each_matrix(
        b,
        contraction,
        lambda at, extents: emit_matrix_dots(b, contraction, at, extents, target, initial),
    )


def emit_matrix_dots(
    b: Builder,
    contraction: Contraction,
    accesses: list[Access],
    extents: list[Index],
    target: CPUTarget,
    initial: ir.Value | None,
) -> None:
    """The product of one pair of matrices, at fixed outer positions, both contiguous along K."""
    _RowDots(b, contraction, extents, target, initial).emit(accesses)


class _RowDots:
    def __init__(
        self,
        b: Builder,
        contraction: Contraction,
        extents: list[Index],
        target: CPUTarget,
        initial: ir.Value | None,
    ):
        self.b = b
        self.contraction = contraction
        self.initial = initial
        self.rows = 1 if contraction.row is None else extents[contraction.row]
        self.a_rows = _A_ROWS.get(target.vector_registers, 2)
        self.columns = extents[contraction.column]
        self.k = extents[contraction.k[0]]
        block = contraction.nest.body.block
        self.wide = can_widen(block)
        self.lanes = target.lanes(max(32 if self.wide else 8, widest_bits(block)))
        if isinstance(self.k, int):
            self.lanes = min(self.lanes, next_power_of_two(self.k))
        c_argument = contraction.nest.body.arguments.index(contraction.c)
        found = combiners(block, [c_argument])
        assert found is not None
        self.combiner: Combiner = found[0]
        element = block.arguments[c_argument].type
        self.element = wide_type(element) if self.wide else element

    def emit(self, accesses: list[Access]) -> None:
        if not isinstance(self.rows, int):
            with self.b.loop(0, self.rows) as row:
                self._emit_columns(
                    lambda column, height: self._emit_group(accesses, row, 1, column, height)
                )
            return
        row, most = 0, self.a_rows
        for groups in range(-(-self.rows // most), 0, -1):
            count = -(-(self.rows - row) // groups)
            self._emit_columns(
                lambda column, height, row=row, count=count: self._emit_group(
                    accesses, row, count, column, height
                )
            )
            row += count

    def _emit_columns(self, group: Callable[[Index, int], None]) -> None:
        b = self.b
        whole = b.round_down(self.columns, _B_ROWS)
        if whole != 0:
            with b.loop(0, whole, _B_ROWS) as column:
                group(column, _B_ROWS)
        rest = b.sub(self.columns, whole)
        if isinstance(rest, int):
            if rest:
                group(whole, rest)
            return
        with b.loop(whole, self.columns) as column:
            group(column, 1)

    def _emit_group(
        self, accesses: list[Access], row: Index, rows: int, column: Index, columns: int
    ) -> None:
        """The dot products of `rows` rows of A with `columns` rows of B."""
        b, con, lanes = self.b, self.contraction, self.lanes
        a, weight = accesses[con.a], accesses[con.b]
        row_stride = 0 if con.row is None else a.strides[con.row]
        n_stride = weight.strides[con.column]
        a_rows = [b.add(a.base, b.mul(b.add(row, r), row_stride)) for r in range(rows)]
        first = b.add(weight.base, b.mul(column, n_stride))
        b_rows = [b.add(first, b.mul(c, n_stride)) for c in range(columns)]
        count = rows * columns
        unroll = max(1, CHAINS // count)
        assert a.view is not None and weight.view is not None
        a_view, b_view = a.view, weight.view

        def step(k: Index, values: list[ir.Value], mask: ir.Value | None) -> list[ir.Value]:
            xs = [self._widened(b.load(a_view, b.add(at, k), lanes, mask)) for at in a_rows]
            ws = [self._widened(b.load(b_view, b.add(at, k), lanes, mask)) for at in b_rows]
            pairs = [(x, w) for x in xs for w in ws]
            return [self._body(x, w, v) for (x, w), v in zip(pairs, values, strict=True)]

        def unrolled(k: Index, values: list[ir.Value]) -> list[ir.Value]:
            results: list[ir.Value] = []
            for u in range(len(values) // count):
                part = values[u * count : (u + 1) * count]
                results += step(b.add(k, u * lanes), part, None)
            return results

        def masked(k: Index, values: list[ir.Value]) -> list[ir.Value]:
            mask = b.mask(lanes, b.sub(self.k, k))
            return [
                b.op("arith.select", new.type, [mask, new, old])
                for new, old in zip(step(k, values, mask), values, strict=True)
            ]

        neutral = b.scalar(self.combiner.neutral(self.element), self.element)
        values = [b.broadcast(neutral, lanes)] * (count * unroll)
        main_end = b.round_down(self.k, lanes * unroll)
        values = b.carried_loop(0, main_end, lanes * unroll, values, unrolled)
        for u in range(1, unroll):
            part = values[u * count : (u + 1) * count]
            values[:count] = [
                self._combine(x, y) for x, y in zip(values[:count], part, strict=True)
            ]
        whole_end = main_end
        if unroll > 1:
            whole_end = b.round_down(self.k, lanes)
            values = b.carried_loop(main_end, whole_end, lanes, values[:count], unrolled)
        values = b.carried_loop(whole_end, self.k, lanes, values, masked)
        self._finish(accesses, row, rows, column, columns, values)

    def _body(self, a: ir.Value, weight: ir.Value, accumulator: ir.Value) -> ir.Value:
        con = self.contraction
        by_operand = {con.a: a, con.b: weight}
        body = con.nest.body
        arguments = [by_operand.get(operand, accumulator) for operand in body.arguments]
        return emit_body(self.b, body.block, arguments, self.lanes, contract=True, widen=self.wide)[
            0
        ]

    def _widened(self, value: ir.Value) -> ir.Value:
        return widened(self.b, value, self.lanes) if self.wide else value

    def _combine(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return self.b.op(self.combiner.op, lhs.type, [lhs, rhs])

    def _finish(
        self,
        accesses: list[Access],
        row: Index,
        rows: int,
        column: Index,
        columns: int,
        values: list[ir.Value],
    ) -> None:
        """Sum up the lanes of a group's sums, join them with C, and store them, through the
        epilogue if there is one; a long one is not copied for each but follows in a loop."""
        b, epilogue = self.b, self.contraction.epilogue
        inline = epilogue is not None and body_cost(epilogue.block) <= INLINE_EPILOGUE
        c = accesses[self.contraction.c]
        assert c.view is not None
        if self.lanes > 1:
            values = lane_totals(b, values, self._combine)
        for number, value in enumerate(values):
            r, position = divmod(number, columns)
            place = b.add(row, r), b.add(column, position)
            total = self._total(accesses, *place, value)
            if inline:
                self._emit_epilogue(accesses, *place, total)
            else:
                b.store(total, c.view, self._offset(c, *place))
        if epilogue is None or inline:
            return
        with b.loop(0, rows) as r, b.loop(0, columns) as position:
            place = b.add(row, r), b.add(column, position)
            self._emit_epilogue(accesses, *place, b.load(c.view, self._offset(c, *place), 1))

    def _offset(self, access: Access, row: Index, column: Index) -> Index:
        b, con = self.b, self.contraction
        at = access.base
        if con.row is not None:
            at = b.add(at, b.mul(row, access.strides[con.row]))
        return b.add(at, b.mul(column, access.strides[con.column]))

    def _total(
        self, accesses: list[Access], row: Index, column: Index, value: ir.Value
    ) -> ir.Value:
        b, con = self.b, self.contraction
        c = accesses[con.c]
        assert c.view is not None
        before = self.initial
        if before is None:
            before = b.load(c.view, self._offset(c, row, column), 1)
        total = self._combine(self._widened(before), value)
        return narrowed(b, total, con.nest.operands[con.c].element_type, 1)

    def _emit_epilogue(
        self, accesses: list[Access], row: Index, column: Index, total: ir.Value
    ) -> None:
        b, epilogue = self.b, self.contraction.epilogue
        assert epilogue is not None
        arguments: list[ir.Value] = []
        for operand in epilogue.arguments:
            access = accesses[operand] if operand >= 0 else None
            if access is None:
                arguments.append(total)
            elif access.view is None:
                arguments.append(access.value)
            else:
                arguments.append(b.load(access.view, self._offset(access, row, column), 1))
        results = emit_body(b, epilogue.block, arguments, 1)
        for operand, result in zip(epilogue.results, results, strict=True):
            access = accesses[operand]
            assert access.view is not None
            b.store(result, access.view, self._offset(access, row, column))
