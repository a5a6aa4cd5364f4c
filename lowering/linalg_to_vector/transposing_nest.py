"""Elementwise operations whose operands are contiguous along different dimensions.

The output is contiguous along one dimension, some input along another: square tiles of such an
input are loaded along its own contiguous dimension and transposed in registers, so that both sides
move whole vectors.  A transpose is the plain case.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.body import emit_body, is_vectorizable, widest_bits
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, LoopNest
from relax_mlir.lowering.linalg_to_vector.register_transpose import transpose_vectors
from relax_mlir.mlir import ir

__all__ = ["TransposingPlan", "emit_transposing_nest", "plan_transposing_nest"]


@dataclass(frozen=True)
class TransposingPlan:
    """`column`: contiguous in the outputs; `row`: contiguous in the `transposed` inputs."""

    row: int
    column: int
    transposed: tuple[int, ...]
    lanes: int


def emit_transposing_nest(
    plan: TransposingPlan, nest: LoopNest, b: Builder, initial: dict[int, ir.Value]
) -> None:
    """Emit a nest by transposed tiles; its outputs are written whole, so `initial` is unused."""
    _Emitter(b, nest, plan).emit()


def plan_transposing_nest(nest: LoopNest, target: CPUTarget) -> TransposingPlan | None:
    """How to emit a (simplified) nest by transposed tiles; None if it is not of this kind."""
    if any(nest.reduction) or not is_vectorizable(nest.body.block) or nest.rank < 2:
        return None
    if any(dim is not None for dim in nest.index_dims):
        return None
    if any(
        list(nest.body.block.arguments[nest.body.arguments.index(out)].uses)
        for out in nest.body.results
    ):
        return None
    columns = [
        dim
        for dim in range(nest.rank)
        if all(nest.stride(out, dim) == ONE for out in nest.body.results)
    ]
    if not columns:
        return None
    column = columns[0]
    transposed = [i for i in nest.inputs() if nest.stride(i, column) not in (ZERO, ONE)]
    rows = [
        dim
        for dim in range(nest.rank)
        if dim != column and all(nest.stride(i, dim) == ONE for i in transposed)
    ]
    lanes = target.lanes(widest_bits(nest.body.block))
    if not rows or not transposed or lanes < 2:
        return None
    return TransposingPlan(rows[0], column, tuple(transposed), min(lanes, 16))


class _Emitter:
    def __init__(self, b: Builder, nest: LoopNest, plan: TransposingPlan):
        self.b = b
        self.nest = nest
        self.plan = plan
        self.extents = [nest.emit_extent(b, extent) for extent in nest.extents]

    def emit(self) -> None:
        others = [d for d in range(self.nest.rank) if d not in (self.plan.row, self.plan.column)]
        self._emit_outer(others, self.nest.emit_accesses(self.b))

    def _emit_outer(self, dims: list[int], accesses: list[Access]) -> None:
        if not dims:
            self._emit_matrix(accesses)
            return
        with self.b.loop(0, self.extents[dims[0]]) as position:
            self._emit_outer(dims[1:], self._advance(accesses, dims[0], position))

    def _advance(self, accesses: list[Access], dim: int, position: Index) -> list[Access]:
        return [access.advanced(self.b, dim, position) for access in accesses]

    def _emit_matrix(self, accesses: list[Access]) -> None:
        """Whole tiles, then the edges: partial tiles if sizes are known, else single elements."""
        b, plan = self.b, self.plan
        rows, columns = self.extents[plan.row], self.extents[plan.column]
        known = isinstance(rows, int) and isinstance(columns, int)
        whole_rows, whole_columns = (b.round_down(n, plan.lanes) for n in (rows, columns))

        def tiles(row_range: tuple[Index, Index], column_range: tuple[Index, Index]) -> None:
            if 0 in (b.sub(row_range[1], row_range[0]), b.sub(column_range[1], column_range[0])):
                return
            with b.loop(*row_range, plan.lanes) as row:
                at_row = self._advance(accesses, plan.row, row)
                with b.loop(*column_range, plan.lanes) as column:
                    at = self._advance(at_row, plan.column, column)
                    self._emit_tile(at, _size(row_range, plan), _size(column_range, plan))

        edges = tiles if known else (lambda r, c: self._emit_elements(accesses, r, c))
        tiles((0, whole_rows), (0, whole_columns))
        edges((0, whole_rows), (whole_columns, columns))
        edges((whole_rows, rows), (0, columns if not known else whole_columns))
        if known:
            edges((whole_rows, rows), (whole_columns, columns))

    def _emit_elements(
        self,
        accesses: list[Access],
        row_range: tuple[Index, Index],
        column_range: tuple[Index, Index],
    ) -> None:
        b, plan = self.b, self.plan
        with b.loop(*row_range) as row, b.loop(*column_range) as column:
            at = self._advance(accesses, plan.row, row)
            at = self._advance(at, plan.column, column)
            arguments = [
                access.value if access.view is None else b.load(access.view, access.base, 1)
                for access in (at[i] for i in self.nest.body.arguments)
            ]
            results = emit_body(b, self.nest.body.block, arguments, 1)
            for out, result in zip(self.nest.body.results, results, strict=True):
                view = at[out].view
                assert view is not None
                b.store(result, view, at[out].base)

    def _emit_tile(self, accesses: list[Access], rows: int, columns: int) -> None:
        """A tile of `rows` x `columns` elements of the output, at most `lanes` each way."""
        b, plan, lanes = self.b, self.plan, self.plan.lanes
        row_mask = None if rows == lanes else b.mask(lanes, rows)
        column_mask = None if columns == lanes else b.mask(lanes, columns)
        tiles: dict[int, list[ir.Value]] = {}
        for operand in plan.transposed:
            access = accesses[operand]
            assert access.view is not None
            stride = access.strides[plan.column]
            lines = [
                b.load(access.view, b.add(access.base, b.mul(i, stride)), lanes, row_mask)
                for i in range(columns)
            ]
            lines += [b.zero(lines[0].type)] * (lanes - columns)
            tiles[operand] = transpose_vectors(b, lines)
        for row in range(rows):
            arguments = [
                tiles[i][row] if i in tiles else self._load(accesses, i, row, column_mask)
                for i in self.nest.body.arguments
            ]
            results = emit_body(b, self.nest.body.block, arguments, lanes)
            for out, result in zip(self.nest.body.results, results, strict=True):
                access = accesses[out]
                assert access.view is not None
                offset = b.add(access.base, b.mul(row, access.strides[plan.row]))
                b.store(b.broadcast(result, lanes), access.view, offset, column_mask)

    def _load(
        self, accesses: list[Access], operand: int, row: int, mask: ir.Value | None
    ) -> ir.Value:
        access = accesses[operand]
        if access.view is None:
            return access.value
        if operand in self.nest.body.results:
            element = self.nest.operands[operand].element_type
            return self.b.zero(self.b.vector_type(self.plan.lanes, element))
        uniform = self.nest.stride(operand, self.plan.column) == ZERO
        offset = self.b.add(access.base, self.b.mul(row, access.strides[self.plan.row]))
        lanes = 1 if uniform else self.plan.lanes
        return self.b.load(access.view, offset, lanes, None if uniform else mask)


def _size(bounds: tuple[Index, Index], plan: TransposingPlan) -> int:
    """Rows or columns of the tiles of a range: whole tiles, or the one partial tile."""
    low, high = bounds
    if isinstance(low, int) and isinstance(high, int) and high - low < plan.lanes:
        return high - low
    return plan.lanes
