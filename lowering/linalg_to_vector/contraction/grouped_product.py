"""Matrix products of bfloat16 and of 8-bit integers by dot-product instructions.

`vdpbf16ps` and `vpdpbusd` multiply groups of two bfloat16 or four bytes, neighbours along K, and
add the products to a 32-bit lane.  A is copied so that a group is one 32-bit element, to
[M][K / group], and blocks of B are packed into panels of such elements; what is left is a matrix
product of 32-bit elements with another multiplication.  `vpdpbusd` takes A unsigned and B signed: a
signed A is shifted by 128, and C starts from -128 times the column sums of B.  A weight that lies
in groups already is read in place, and so is A then.  On CPUs without these instructions the
ordinary product, which widens the elements, is used.
"""

from __future__ import annotations

from dataclasses import replace

from relax_mlir.lowering.linalg_to_vector.body import multiplies
from relax_mlir.lowering.linalg_to_vector.builder import (
    Builder,
    FlatView,
    Index,
    is_zero_constant,
)
from relax_mlir.lowering.linalg_to_vector.contraction.group_layout import (
    Groups,
    ShiftSums,
    block_dims,
    blocks_follow,
    find_groups,
    read_in_groups,
    weight_in_groups,
)
from relax_mlir.lowering.linalg_to_vector.contraction.grouped_panels import (
    LANES,
    SHIFT,
    GroupedPanels,
    GroupKind,
    group_product,
    sum_of_groups,
)
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction, for_each_matrix
from relax_mlir.lowering.linalg_to_vector.contraction.matrix_product import emit_matrix_product
from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import MAX_COLUMNS
from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS, CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import (
    ONE,
    ZERO,
    Access,
    Extent,
    LoopNest,
    Operand,
    Stage,
)
from relax_mlir.mlir import ir

__all__ = ["emit_grouped_product", "grouped_kind", "kind_of_body"]

# Copying A and B must be worth it.
_LEAST_COLUMNS, _LEAST_DEPTH = 16, 16

# Two units take six cycles for a product of bfloat16 and four for one of bytes.  Measured with
# matrices of 1024 x 1024, 4 rows of bfloat16 take a quarter longer than widened ones, 6 as long;
# 4 rows of bytes two thirds.
_BF16 = GroupKind(2, "llvm.x86.avx512bf16.dpbf16ps.512", chains=16, least_rows=6)
_BYTES = GroupKind(4, "llvm.x86.avx512.vpdpbusd.512", chains=CHAINS, least_rows=4)


def grouped_kind(con: Contraction, target: CPUTarget, initial: ir.Value | None) -> GroupKind | None:
    """The instruction for a contraction; None if there is none or it does not pay."""
    if initial is None or not is_zero_constant(initial):
        return None
    kind = kind_of_body(con.nest, (con.a, con.b, con.c), target)
    groups = find_groups(con.nest, con.a, con.b, con.column, con.k)
    if groups is not None:
        fits = kind is not None and kind.group == groups.size
        return kind if fits and blocks_follow(con.nest, con.b, con.outer, groups) else None
    if kind is None or len(con.k) != 1 or con.row is None:
        return None
    leasts = ((con.row, kind.least_rows), (con.column, _LEAST_COLUMNS), (con.k[0], _LEAST_DEPTH))
    for dim, least in leasts:
        size = con.extent(dim).static
        if size is not None and size < least:
            return None
    return kind


def kind_of_body(
    nest: LoopNest, operands: tuple[int, int, int], target: CPUTarget
) -> GroupKind | None:
    """The instruction that does what the body of a nest does for groups of elements of A and B;
    `operands` are the numbers of A, B and C."""
    block = nest.body.block
    names = [op.operation.name for op in block.operations][:-1]
    elements = [nest.operands[i].element_type for i in operands[:2]]
    if all(isinstance(element, ir.BF16Type) for element in elements):
        known = ["arith.mulf", "arith.addf"]
        wide = ["arith.extf", "arith.extf", *known]
        a, b = (nest.body.arguments.index(operand) for operand in operands[:2])
        fits = names in (known, wide) and multiplies(block, a, b)
        return _BF16 if fits and "avx512_bf16" in target.features else None
    if "avx512_vnni" not in target.features or any(_bits(e) != 8 for e in elements):
        return None
    if _bits(nest.operands[operands[2]].element_type) != 32:
        return None
    return _byte_kind(nest, operands, names)


def _byte_kind(
    nest: LoopNest, operands: tuple[int, int, int], names: list[str]
) -> GroupKind | None:
    if sorted(names) != sorted([*names[:2], "arith.muli", "arith.addi"]) or len(names) != 4:
        return None
    block = nest.body.block
    signs: dict[int, str] = {}
    for op in list(block.operations)[:-1]:
        source = op.operation.operands[0]
        if op.operation.name in ("arith.extsi", "arith.extui"):
            argument = list(block.arguments).index(source)
            signs[nest.body.arguments[argument]] = op.operation.name
    if signs.get(operands[1]) != "arith.extsi" or operands[0] not in signs:
        return None
    return replace(_BYTES, shifted=signs[operands[0]] == "arith.extsi")


def _bits(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntegerType) else 0


def emit_grouped_product(
    b: Builder, con: Contraction, target: CPUTarget, initial: ir.Value, kind: GroupKind
) -> None:
    """Emit a contraction for which `grouped_kind` found an instruction."""
    groups = find_groups(con.nest, con.a, con.b, con.column, con.k)
    if groups is not None:
        _emit_product_of_groups(b, con, target, initial, kind, groups)
        return

    def matrix(accesses: list[Access], extents: list[Index]) -> None:
        _GroupedProduct(b, con, accesses, extents, target, initial, kind).emit()

    for_each_matrix(b, con, matrix)


def _emit_product_of_groups(
    b: Builder,
    con: Contraction,
    target: CPUTarget,
    initial: ir.Value,
    kind: GroupKind,
    groups: Groups,
) -> None:
    """Emit a contraction whose B lies in groups: both operands are read where they lie."""
    element = con.nest.operands[con.a].element_type
    holder = sum_of_groups(b, element)
    nest = read_in_groups(weight_in_groups(con.nest, con.b, groups), con.a, groups)
    body = Stage(holder.regions[0].blocks[0], (con.a, con.b, con.c), (con.c,))
    nest = replace(nest, body=body)
    start: int | None = None
    if kind.shifted:
        start = len(nest.operands)
        nest = _with_shift_sums(b, con, nest, kind, groups)

    def multiply(a: ir.Value, column: ir.Value, accumulator: ir.Value) -> ir.Value:
        if kind.shifted:
            a = b.op("arith.xori", a.type, [a, b.broadcast(b.scalar(SHIFT, i32), LANES)])
        return group_product(b, kind, element, (a, column, accumulator))

    i32 = ir.IntegerType.get_signless(32)
    grouped = replace(
        con, nest=nest, k=(groups.over,), product=multiply, chains=kind.chains, start=start
    )
    emit_matrix_product(b, grouped, target, initial)
    holder.erase()


def _with_shift_sums(
    b: Builder, con: Contraction, nest: LoopNest, kind: GroupKind, groups: Groups
) -> LoopNest:
    """The nest with another operand, which has what the shift of A adds to each column."""
    panels = block_dims(nest, con.b, con.outer)
    width = nest.stride(con.b, groups.over).factor
    weight = nest.emit_accesses(b, {con.b})[con.b]
    blocks = nest.emit_extent(b, nest.extents[panels[0]]) if panels else 1
    depth = nest.emit_extent(b, nest.extents[groups.over])
    columns = nest.emit_extent(b, nest.extents[con.column])
    element = con.nest.operands[con.a].element_type
    sums = ShiftSums(b, kind, element, weight, blocks, depth, width, columns)
    strides = [ZERO] * nest.rank
    strides[con.column] = ONE
    for panel in panels:
        strides[panel] = Extent(sums.distance)
    operand = Operand(sums.emit().value, ir.IntegerType.get_signless(32), tuple(strides))
    return replace(nest, operands=(*nest.operands, operand))


class _GroupedProduct:
    def __init__(
        self,
        b: Builder,
        con: Contraction,
        accesses: list[Access],
        extents: list[Index],
        target: CPUTarget,
        initial: ir.Value,
        kind: GroupKind,
    ):
        assert con.row is not None
        self.b = b
        self.con = con
        self.accesses = accesses
        self.target = target
        self.initial = initial
        self.kind = kind
        self.rows, self.columns = extents[con.row], extents[con.column]
        self.depth = extents[con.k[0]]
        self.groups = b.ceildiv(self.depth, kind.group)
        self.element = con.nest.operands[con.a].element_type
        self.i32 = ir.IntegerType.get_signless(32)

    def emit(self) -> None:
        a_bytes, a_groups = self._buffer(self.b.mul(self.rows, self.groups))
        self._copy_a(a_bytes)
        holder = sum_of_groups(self.b, self.element)
        grouped = self._grouped(a_groups, holder.regions[0].blocks[0])
        emit_matrix_product(self.b, grouped, self.target, self.initial)
        holder.erase()

    def _buffer(self, groups: Index) -> tuple[FlatView, FlatView]:
        """A buffer of 32-bit groups, as elements and as groups."""
        b = self.b
        i8 = ir.IntegerType.get_signless(8)
        raw = b.scratch(b.mul(groups, 4), i8)
        elements = self._view(raw, b.mul(groups, self.kind.group), self.element)
        return elements, self._view(raw, groups, self.i32)

    def _view(self, raw: FlatView, size: Index, element: ir.Type) -> FlatView:
        static = isinstance(size, int)
        shape = [size if static else ir.ShapedType.get_dynamic_size()]
        type_ = ir.MemRefType.get(shape, element)
        operands = [raw.value, self.b.index(0), *([] if static else [self.b.index(size)])]
        return FlatView(self.b.op("memref.view", type_, operands), element)

    # Copies

    def _copy_a(self, target: FlatView) -> None:
        """A to [M][K / group], the last group filled up with zeros; shifted bytes in one go."""
        b, con = self.b, self.con
        access = self.accesses[con.a]
        assert access.view is not None and con.row is not None
        stride, step = access.strides[con.row], access.strides[con.k[0]]
        per_row = b.mul(self.groups, self.kind.group)
        lanes = 64 // (4 // self.kind.group)
        with b.loop(0, self.rows) as row:
            start = b.add(access.base, b.mul(row, stride))
            to = b.mul(row, per_row)
            if isinstance(step, int) and step == 1:
                with b.loop(0, per_row, lanes) as k:
                    left = b.mask(lanes, b.sub(self.depth, k))
                    value = b.load(access.view, b.add(start, k), lanes, left)
                    wanted = b.mask(lanes, b.sub(per_row, k))
                    b.store(self._shifted(value, lanes), target, b.add(to, k), wanted)
            else:
                self._copy_a_elements(access, target, (start, step), to)

    def _copy_a_elements(
        self, access: Access, target: FlatView, source: tuple[Index, Index], to: Index
    ) -> None:
        """A row of A whose elements are apart."""
        b = self.b
        assert access.view is not None
        start, step = source
        per_row = b.mul(self.groups, self.kind.group)
        with b.loop(0, self.depth) as k:
            value = b.load(access.view, b.add(start, b.mul(k, step)), 1)
            b.store(self._shifted(value, 1), target, b.add(to, k))
        if per_row != self.depth:
            with b.loop(self.depth, per_row) as k:
                b.store(b.zero(self.element), target, b.add(to, k))

    def _shifted(self, value: ir.Value, lanes: int) -> ir.Value:
        """Signed bytes plus 128, as unsigned ones."""
        if not self.kind.shifted:
            return value
        offset = self.b.broadcast(self.b.scalar(-128, self.element), lanes)
        return self.b.op("arith.xori", value.type, [value, offset])

    # The product of groups

    def _multiply(self, a: ir.Value, column: ir.Value, accumulator: ir.Value) -> ir.Value:
        return group_product(self.b, self.kind, self.element, (a, column, accumulator))

    def _panels(self) -> GroupedPanels:
        con, access = self.con, self.accesses[self.con.b]
        assert access.view is not None
        sums = None
        if self.kind.shifted:
            sums = self.b.scratch(self.b.add(self.columns, MAX_COLUMNS), self.i32)
        steps = (access.strides[con.column], access.strides[con.k[0]])
        return GroupedPanels(
            self.b, self.kind, access, access.view, *steps, self.columns, self.depth, sums
        )

    def _grouped(self, a: FlatView, block: ir.Block) -> Contraction:
        """The contraction over groups: dimensions row, column, group."""
        con, b = self.con, self.b
        symbols: list[tuple[ir.Value, int | None]] = []

        def extent(value: Index) -> Extent:
            if isinstance(value, int):
                return Extent(value)
            symbols.append((b.index(value), None))
            return Extent(1, (len(symbols) - 1,))

        operands: list[Operand] = []
        for number, (operand, access) in enumerate(
            zip(con.nest.operands, self.accesses, strict=True)
        ):
            if access.view is None or number in (con.a, con.b):
                operands.append(replace(operand, strides=(ZERO,) * 3, base=(), dim_order=None))
                continue
            assert con.row is not None
            steps = (access.strides[con.row], access.strides[con.column])
            strides = (*(extent(step) for step in steps), ZERO)
            base = (extent(access.base),)
            operands.append(Operand(access.view.value, operand.element_type, strides, base))
        operands[con.a] = Operand(a.value, self.i32, (extent(self.groups), ZERO, ONE))
        operands[con.b] = replace(operands[con.b], element_type=self.i32)
        panels = self._panels()
        if panels.sums is not None:
            operands.append(Operand(panels.sums.value, self.i32, (ZERO, ONE, ZERO)))
        extents = (extent(self.rows), extent(self.columns), extent(self.groups))
        stage = Stage(block, (con.a, con.b, con.c), (con.c,))
        nest = LoopNest(extents, (False, False, True), tuple(operands), stage, symbols)
        return replace(
            con,
            nest=nest,
            outer=(),
            row=0,
            column=1,
            k=(2,),
            product=self._multiply,
            chains=self.kind.chains,
            pack_b=panels.pack,
            start=None if panels.sums is None else len(operands) - 1,
        )
