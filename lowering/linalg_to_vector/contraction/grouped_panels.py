"""Panels of B for dot-product instructions: groups of elements that follow one another along K are
32-bit elements of a panel.

B is read once: where its rows are contiguous as many of them as a group has are interleaved,
where its columns are, square tiles of groups are transposed in registers.  Positions of K that do
not exist are zeros; what columns that do not exist hold is of no use to anyone.  Where A is of
signed bytes that have been shifted by 128, the sums of the columns of a block are taken with it:
what the shift adds too much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.packing import PanelBlock, column_panels
from relax_mlir.lowering.linalg_to_vector.loop_nest import Access
from relax_mlir.lowering.linalg_to_vector.register_transpose import transpose_vectors
from relax_mlir.mlir import ir

__all__ = ["LANES", "SHIFT", "GroupKind", "GroupedPanels", "group_product", "sum_of_groups"]

LANES = 16
"""32-bit groups in a vector."""

SHIFT = -0x7F7F7F80
"""A group of four bytes of 128, as a 32-bit number."""


@dataclass(frozen=True)
class GroupKind:
    """A dot-product instruction: `group` elements of a 32-bit group; `chains` of them, which do not
    wait for one another, keep the units busy; with `least_rows` of A it pays to bring a matrix B
    into groups; `shifted` where A is signed bytes, which have to be shifted."""

    group: int
    intrinsic: str
    chains: int
    least_rows: int
    shifted: bool = False


def group_product(
    b: Builder,
    kind: GroupKind,
    element: ir.Type,
    values: tuple[ir.Value, ir.Value, ir.Value],
) -> ir.Value:
    """The instruction, on vectors of groups of A and of B, and accumulators."""
    a, column, accumulator = values
    elements = b.vector_type(LANES * kind.group, element)
    factors = [b.op("vector.bitcast", elements, [value]) for value in (a, column)]
    attributes = {
        "intrin": ir.StringAttr.get(kind.intrinsic),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([3, 0]),
    }
    return b.op("llvm.call_intrinsic", accumulator.type, [accumulator, *factors], attributes)


def sum_of_groups(b: Builder, element: ir.Type) -> ir.Operation:
    """An operation that holds a body of the types of groups of such elements, which says how to
    add; to be erased after use."""
    is_float = isinstance(element, ir.FloatType)
    i32 = ir.IntegerType.get_signless(32)
    accumulator = ir.F32Type.get() if is_float else i32
    holder = ir.Operation.create("scf.execute_region", results=[], operands=[], regions=1)
    block = holder.regions[0].blocks.append(i32, i32, accumulator)
    with ir.InsertionPoint(block):
        a, _, total = block.arguments
        value = b.op("arith.bitcast", accumulator, [a]) if is_float else a
        name = "arith.addf" if is_float else "arith.addi"
        total = b.op(name, accumulator, [total, value])
        ir.Operation.create("linalg.yield", results=[], operands=[total])
    return holder


@dataclass(frozen=True)
class GroupedPanels:
    """Copies blocks of B.

    access: B at fixed outer positions; column_step, k_step: its strides.  columns, depth: its size
    in elements.  sums: where what the shift adds to each column goes, negated; None without shift.
    """

    b: Builder
    kind: GroupKind
    access: Access
    view: FlatView
    column_step: Index
    k_step: Index
    columns: Index
    depth: Index
    sums: FlatView | None

    def pack(self, block: PanelBlock) -> None:
        """Copy one block, which is counted in groups along K."""
        self._set_sums(block, lambda _: self._zeros())
        if isinstance(self.k_step, int) and self.k_step == 1:
            self._transpose(block)
        else:
            self._interleave(block)
        self._set_sums(block, self._negated)

    @property
    def _element(self) -> ir.Type:
        return self.view.element_type

    def _groups(self) -> ir.VectorType:
        return self.b.vector_type(LANES, ir.IntegerType.get_signless(32))

    def _zeros(self) -> ir.Value:
        return self.b.zero(self._groups())

    def _each_vector(
        self, block: PanelBlock, vector: Callable[[Index, Index | None], None]
    ) -> None:
        """`vector(at, left)` for every vector of a row of the panels: how far behind the first
        column it is, and how many of its columns exist (None: all)."""
        b = self.b

        def panel(position: Index, active: Index | None) -> None:
            for v in range(block.width // LANES):
                at = b.add(position, v * LANES)
                if active is None:
                    vector(at, None)
                elif not isinstance(active, int) or active > v * LANES:
                    vector(at, b.maximum(b.sub(active, v * LANES), 0))

        column_panels(b, block.columns, block.width, panel)

    def _store(self, groups: ir.Value, block: PanelBlock, row: Index, at: Index) -> None:
        """A vector of row `row` of the panels, `at` columns behind the first one of the block."""
        b = self.b
        panel, within = b.floordiv(at, block.width), b.mod(at, block.width)
        start = b.add(b.mul(panel, block.panel_size), b.mul(row, block.width))
        b.store(groups, block.buffer, b.add(start, within))
        self._add_to_sums(groups, b.add(block.column, at))

    # Rows of B that are contiguous, or elements that are apart

    def _interleave(self, block: PanelBlock) -> None:
        """Row after row and each as a whole, which the processor fetches ahead."""
        b, group = self.b, self.kind.group
        last = b.mod(self.depth, group)
        whole: Index = block.depth
        if not isinstance(last, int) or last:
            whole = b.minimum(block.depth, b.sub(b.floordiv(self.depth, group), block.k))
        with b.loop(0, whole) as row:
            self._group_row(block, row, group)
        b.when(
            b.at_least(b.sub(block.depth, whole), 1), lambda: self._group_row(block, whole, last)
        )

    def _group_row(self, block: PanelBlock, row: Index, exist: Index) -> None:
        """A row of all panels of a block, from as many rows of B as exist."""

        def vector(at: Index, left: Index | None) -> None:
            read = partial(self._part, block, row, at, left)
            parts = [self._if_exists(read, i, exist) for i in range(self.kind.group)]
            self._store(self._interleaved(parts), block, row, at)

        self._each_vector(block, vector)

    def _part(
        self, block: PanelBlock, row: Index, at: Index, left: Index | None, i: Index
    ) -> ir.Value:
        """Elements `i` of a vector of groups, of which `left` columns exist."""
        b = self.b
        k = b.add(b.mul(b.add(block.k, row), self.kind.group), i)
        column = b.add(block.column, at)
        if isinstance(self.column_step, int) and self.column_step == 1:
            mask = None if left is None else b.mask(LANES, left)
            return b.load(self.view, b.add(self._row_start(k), column), LANES, mask)
        return self._gathered(k, column, left)

    def _row_start(self, k: Index) -> Index:
        return self.b.add(self.access.base, self.b.mul(k, self.k_step))

    def _if_exists(self, read: partial[ir.Value], i: int, exist: Index) -> ir.Value:
        b = self.b
        nothing = b.zero(b.vector_type(LANES, self._element))
        if isinstance(exist, int):
            return read(i) if i < exist else nothing
        # A row that exists is read in place of one that does not.
        value = read(b.minimum(i, b.sub(exist, 1)))
        there = b.compare("sgt", exist, i)
        return b.op("arith.select", value.type, [there, value, nothing])

    def _gathered(self, k: Index, column: Index, left: Index | None) -> ir.Value:
        """Elements of columns that are apart, one by one."""
        b = self.b
        value = zeros = b.zero(b.vector_type(LANES, self._element))
        for lane in range(LANES):
            at = b.add(self._row_start(k), b.mul(self._column(column, lane), self.column_step))
            position = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
            element = b.load(self.view, at, 1)
            value = b.op("vector.insert", value.type, [element, value], position)
        if left is None:
            return value
        return b.op("arith.select", value.type, [b.mask(LANES, left), value, zeros])

    def _column(self, first: Index, lane: int) -> Index:
        """A column that exists: the last one in place of those that do not."""
        return self.b.minimum(self.b.add(first, lane), self.b.sub(self.columns, 1))

    def _interleaved(self, parts: list[ir.Value]) -> ir.Value:
        """Vectors of the first elements of groups, of the second ones ... as vectors of groups."""
        b = self.b
        while len(parts) > 1:
            half = len(parts) // 2
            lanes = ir.VectorType(parts[0].type).shape[0] * 2
            type_ = b.vector_type(lanes, self._element)
            parts = [
                b.op("vector.interleave", type_, [parts[i], parts[i + half]]) for i in range(half)
            ]
        return b.op("vector.bitcast", self._groups(), parts)

    # Columns of B that are contiguous

    def _transpose(self, block: PanelBlock) -> None:
        """Square tiles, panel after panel: what is written behind the last row of one is written
        over by the next."""
        b = self.b
        end = b.mul(b.ceildiv(block.columns, LANES), LANES)
        with b.loop(0, end, LANES) as at, b.loop(0, block.depth, LANES) as row:
            self._transpose_tile(block, row, at)

    def _transpose_tile(self, block: PanelBlock, row: Index, at: Index) -> None:
        b = self.b
        k = b.mul(b.add(block.k, row), self.kind.group)
        lanes = LANES * self.kind.group
        mask = self._tile_mask(block, row, k)
        lines: list[ir.Value] = []
        for lane in range(LANES):
            column = self._column(b.add(block.column, at), lane)
            offset = b.add(b.add(self.access.base, k), b.mul(column, self.column_step))
            loaded = b.load(self.view, offset, lanes, mask)
            lines.append(b.op("vector.bitcast", self._groups(), [loaded]))
        for number, groups in enumerate(transpose_vectors(b, lines)):
            self._store(groups, block, b.add(row, number), at)

    def _tile_mask(self, block: PanelBlock, row: Index, k: Index) -> ir.Value | None:
        """The elements of a column, from `k` on, that exist and belong to the block."""
        b, group = self.b, self.kind.group
        sizes = (self.depth, group), (block.depth, LANES)
        if all(isinstance(size, int) and size % of == 0 for size, of in sizes):
            return None
        belong = b.mul(b.sub(block.depth, row), group)
        return b.mask(LANES * group, b.minimum(b.sub(self.depth, k), belong))

    # The shift of signed bytes

    def _set_sums(self, block: PanelBlock, value: Callable[[Index], ir.Value]) -> None:
        """Replace the sums of all columns of the panels, at each offset by `value(offset)`."""
        if self.sums is None:
            return
        b = self.b
        panels = b.mul(b.ceildiv(block.columns, block.width), block.width)
        with b.loop(0, panels, LANES) as at:
            offset = b.add(block.column, at)
            b.store(value(offset), self.sums, offset)

    def _add_to_sums(self, groups: ir.Value, offset: Index) -> None:
        """Add 128 times a vector of groups to the sums of its columns."""
        if self.sums is None:
            return
        b = self.b
        shift = b.broadcast(b.scalar(SHIFT, ir.IntegerType.get_signless(32)), LANES)
        before = b.load(self.sums, offset, LANES)
        after = group_product(b, self.kind, self._element, (shift, groups, before))
        b.store(after, self.sums, offset)

    def _negated(self, offset: Index) -> ir.Value:
        """What the products of a column have to start from."""
        b, zeros = self.b, self._zeros()
        assert self.sums is not None
        return b.op("arith.subi", zeros.type, [zeros, b.load(self.sums, offset, LANES)])
