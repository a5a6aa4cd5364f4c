"""Few rows times a large matrix whose rows are contiguous.

Each element of B is used only once for each row of A, so the time is that of reading B.  Whole rows
of B are swept in the order they lie in memory, a few at once, while the results stay in the
first-level cache, in C itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.matching import (
    Contraction,
    for_each_matrix,
)
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import MicroKernel, Region
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, Access
from relax_mlir.mlir import ir

__all__ = ["emit_row_sweep", "suits_row_sweep"]

# Rows of B swept at once, by the number of rows of A (those of A stay in registers).
_B_ROWS = {1: 8, 2: 8, 3: 4, 4: 4}
_MAX_DYNAMIC_ROWS = 2
# Columns of C at once, for all rows of A together.
_COLUMNS = 4096
_MIN_COLUMNS = 64
# Sweeps that are summed in a buffer before they are added to C: the rounding errors of a sum grow
# with its length.
_GROUP = 32


def suits_row_sweep(b: Builder, contraction: Contraction, target: CPUTarget) -> ir.Value | bool:
    """Whether A has few rows and B is larger than the second-level cache; or A turns out to have
    one row or two, where that is only known at run time."""
    con = contraction
    nest = con.nest
    element = nest.operands[con.c].element_type
    fits = len(con.k) == 1 and nest.stride(con.b, con.column) == ONE and element.width >= 32
    rows, columns = con.extent(con.row), con.extent(con.column)
    k = con.extent(con.k[0])
    if not fits or (rows.static is not None and rows.static not in _B_ROWS):
        return False
    limit = target.l2_bytes // (nest.operands[con.b].element_type.width // 8)
    height = rows.static or 1
    shape: list[ir.Value | bool] = [
        b.at_least(nest.emit_extent(b, columns), _MIN_COLUMNS),
        b.at_least(nest.emit_extent(b, k), _B_ROWS[height]),
    ]
    if rows.static is not None:
        return b.all_of([b.at_least(nest.emit_extent(b, columns * k), limit + 1), *shape])
    # The tile for any number of rows has too few sums on the way if there are so few, however small
    # B is.
    return b.all_of([b.compare("ule", nest.emit_extent(b, rows), _MAX_DYNAMIC_ROWS), *shape])


def emit_row_sweep(
    b: Builder, contraction: Contraction, target: CPUTarget, initial: ir.Value | None
) -> None:
    """Emit a contraction where `suits_row_sweep` holds."""
    bits = max(32, *(a.type.width for a in contraction.nest.body.block.arguments))
    lanes = target.lanes(bits)

    def emit(at: list[Access], extents: list[Index]) -> None:
        def sweep(rows: int) -> None:
            _RowSweep(b, contraction, at, extents, rows, lanes, initial).emit()

        known = contraction.extent(contraction.row).static
        if known is not None:
            sweep(known)
            return
        assert contraction.row is not None
        heights = range(1, _MAX_DYNAMIC_ROWS + 1)
        b.switch(extents[contraction.row], {rows: partial(sweep, rows) for rows in heights})

    for_each_matrix(b, contraction, emit)


@dataclass(frozen=True)
class _Sums:
    """Where a sweep adds its products: to C, or to a buffer that begins at `column` of C.

    first: nothing was added yet.  last: the buffer goes into C.
    """

    buffer: FlatView | None = None
    column: Index = 0
    first: bool = False
    last: bool = False


class _RowSweep:
    def __init__(
        self,
        b: Builder,
        contraction: Contraction,
        accesses: list[Access],
        extents: list[Index],
        rows: int,
        lanes: int,
        initial: ir.Value | None,
    ):
        self.b = b
        self.contraction = contraction
        self.accesses = accesses
        self.lanes = lanes
        self.initial = initial
        self.rows = rows
        self.columns, self.k = extents[contraction.column], extents[contraction.k[0]]
        self.kernel = MicroKernel(b, contraction, accesses, lanes, initial)

    def emit(self) -> None:
        b, block = self.b, _COLUMNS // self.rows
        if not isinstance(self.columns, int):
            with b.loop(0, self.columns, block) as column:
                self._emit_block(column, b.minimum(b.sub(self.columns, column), block))
            return
        whole = self.columns // block * block
        if whole:
            with b.loop(0, whole, block) as column:
                self._emit_block(column, block)
        if whole < self.columns:
            self._emit_block(whole, self.columns - whole)

    def _emit_block(self, column: Index, columns: Index) -> None:
        b, height = self.b, _B_ROWS[self.rows]
        whole = b.round_down(self.k, height)
        lead, group = whole, _GROUP * height
        if isinstance(whole, int):
            lead = height + (whole - height) % group
        self._sweep(column, columns, 0, height, _Sums(first=True))
        with b.loop(height, lead, height) as k:
            self._sweep(column, columns, k, height, _Sums())
        if lead is not whole:
            buffer = b.scratch(_COLUMNS, self.kernel.empty().type.element_type)
            with b.loop(lead, whole, group) as k:
                self._group(column, columns, k, buffer)
        with b.loop(whole, self.k) as k:
            self._sweep(column, columns, k, 1, _Sums())
        if self.contraction.epilogue is not None:
            self._over_columns(
                column,
                columns,
                lambda at, active: self.kernel.emit_stored_epilogue(
                    Region(0, at, self.rows, 1, active)
                ),
            )

    def _group(self, column: Index, columns: Index, k: Index, buffer: FlatView) -> None:
        """Sweeps whose sum is made in a buffer, and added to C in the end."""
        b, height = self.b, _B_ROWS[self.rows]
        last = b.add(k, (_GROUP - 1) * height)
        into = _Sums(buffer, column)
        self._sweep(column, columns, k, height, replace(into, first=True))
        with b.loop(b.add(k, height), last, height) as at:
            self._sweep(column, columns, at, height, into)
        self._sweep(column, columns, last, height, replace(into, last=True))

    def _over_columns(
        self, column: Index, columns: Index, body: Callable[[Index, Index | None], None]
    ) -> None:
        """`body(position, active)` for every vector of columns; active is None for whole ones."""
        b, lanes = self.b, self.lanes
        whole = b.round_down(columns, lanes)
        with b.loop(0, whole, lanes) as offset:
            body(b.add(column, offset), None)
        rest = b.sub(columns, whole)
        b.when(b.at_least(rest, 1), lambda: body(b.add(column, whole), rest))

    def _sweep(self, column: Index, columns: Index, k: Index, height: int, sums: _Sums) -> None:
        """Add `height` rows of B, from row k on, to a block of C or to its buffer."""
        b, con, lanes = self.b, self.contraction, self.lanes
        a, weight, c = (self.accesses[i] for i in (con.a, con.b, con.c))
        assert a.view is not None and weight.view is not None and c.view is not None
        a_view, b_view, c_view = a.view, weight.view, c.view
        k_dim = con.k[0]
        row_strides = [0 if con.row is None else access.strides[con.row] for access in (a, c)]
        positions = [b.add(k, i) for i in range(height)]
        factors = [
            [
                b.broadcast(b.load(a_view, self._a_offset(a, row, row_strides[0], p), 1), lanes)
                for p in positions
            ]
            for row in range(self.rows)
        ]
        starts = [b.add(weight.base, b.mul(p, weight.strides[k_dim])) for p in positions]

        def vector(at: Index, active: Index | None) -> None:
            mask = None if active is None else b.mask(lanes, active)
            lines = [b.load(b_view, b.add(start, at), lanes, mask) for start in starts]
            for row in range(self.rows):
                offset = b.add(b.add(c.base, b.mul(row, row_strides[1])), at)
                stored = c_view, offset
                if sums.buffer is not None:
                    own = b.add(row * (_COLUMNS // self.rows), b.sub(at, sums.column))
                    stored = sums.buffer, own
                if sums.first and sums.buffer is not None:
                    value = self.kernel.empty()
                elif sums.first and self.initial is not None:
                    value = b.broadcast(self.initial, lanes)
                else:
                    value = b.load(*stored, lanes, mask)
                if height == 1:
                    value = self.kernel.multiply(factors[row][0], lines[0], value)
                else:
                    # Summed apart: one sum over all rows of B would gather rounding errors.
                    part = self.kernel.empty()
                    for factor, line in zip(factors[row], lines, strict=True):
                        part = self.kernel.multiply(factor, line, part)
                    value = self.kernel.combine(value, part)
                if sums.last:
                    value = self.kernel.combine(b.load(c_view, offset, lanes, mask), value)
                    stored = c_view, offset
                b.store(value, *stored, mask)

        self._over_columns(column, columns, vector)

    def _a_offset(self, a: Access, row: int, row_stride: Index, k: Index) -> Index:
        b = self.b
        along_k = b.mul(k, a.strides[self.contraction.k[0]])
        return b.add(b.add(a.base, b.mul(row, row_stride)), along_k)
