"""Matrix products of bfloat16 and of 8-bit integers by dot-product instructions.

`vdpbf16ps` and `vpdpbusd` multiply groups of two bfloat16 or four bytes, neighbours along K, and
add the products to a 32-bit lane.  A and B are copied so that a group is one 32-bit element, A to
[M][K / group], B to [K / group][N]; what is left is a matrix product of 32-bit elements with
another multiplication.  `vpdpbusd` takes A unsigned and B signed: a signed A is shifted by 128, and
C starts from -128 times the column sums of B.  On CPUs without these instructions the ordinary
product, which widens the elements, is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.body import multiplies
from relax_mlir.lowering.linalg_to_vector.builder import (
    Builder,
    FlatView,
    Index,
    is_zero_constant,
)
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction, for_each_matrix
from relax_mlir.lowering.linalg_to_vector.contraction.matrix_product import emit_matrix_product
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import (
    ONE,
    ZERO,
    Access,
    Extent,
    LoopNest,
    Operand,
    Stage,
)
from relax_mlir.lowering.linalg_to_vector.register_transpose import transpose_vectors
from relax_mlir.mlir import ir

__all__ = ["GroupKind", "emit_grouped_product", "group_product", "grouped_kind", "kind_of_body"]

_LANES = 16
# Copying A and B must be worth it.
_LEAST_ROWS, _LEAST_COLUMNS, _LEAST_DEPTH = 4, 16, 16


@dataclass(frozen=True)
class GroupKind:
    """A dot-product instruction: `group` elements of a 32-bit group; `shifted` where A is signed
    bytes, which have to be shifted."""

    group: int
    intrinsic: str
    shifted: bool = False


_BF16 = GroupKind(2, "llvm.x86.avx512bf16.dpbf16ps.512")
_BYTES = GroupKind(4, "llvm.x86.avx512.vpdpbusd.512")


def grouped_kind(con: Contraction, target: CPUTarget, initial: ir.Value | None) -> GroupKind | None:
    """The instruction for a contraction; None if there is none or it does not pay."""
    if len(con.k) != 1 or con.row is None or initial is None or not is_zero_constant(initial):
        return None
    sizes = zip(
        (con.row, con.column, con.k[0]), (_LEAST_ROWS, _LEAST_COLUMNS, _LEAST_DEPTH), strict=True
    )
    for dim, least in sizes:
        size = con.extent(dim).static
        if size is not None and size < least:
            return None
    return kind_of_body(con.nest, (con.a, con.b, con.c), target)


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


def group_product(
    b: Builder,
    kind: GroupKind,
    element: ir.Type,
    values: tuple[ir.Value, ir.Value, ir.Value],
) -> ir.Value:
    """The instruction, on vectors of groups of A and of B, and accumulators."""
    a, column, accumulator = values
    elements = b.vector_type(_LANES * kind.group, element)
    factors = [b.op("vector.bitcast", elements, [value]) for value in (a, column)]
    attributes = {
        "intrin": ir.StringAttr.get(kind.intrinsic),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([3, 0]),
    }
    return b.op("llvm.call_intrinsic", accumulator.type, [accumulator, *factors], attributes)


def emit_grouped_product(
    b: Builder, con: Contraction, target: CPUTarget, initial: ir.Value, kind: GroupKind
) -> None:
    """Emit a contraction for which `grouped_kind` found an instruction."""

    def matrix(accesses: list[Access], extents: list[Index]) -> None:
        _GroupedProduct(b, con, accesses, extents, target, initial, kind).emit()

    for_each_matrix(b, con, matrix)


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
        # Rows of B' that end in whole vectors need no masks when they are written; a vector more
        # keeps them from falling on the same cache sets.
        self.width = b.mul(b.ceildiv(self.columns, _LANES), _LANES)
        self.stride = b.add(self.width, _LANES)

    def emit(self) -> None:
        b = self.b
        a_bytes, a_groups = self._buffer(b.mul(self.rows, self.groups))
        whole_tiles = b.mul(b.ceildiv(self.groups, _LANES), _LANES)
        b_bytes, b_groups = self._buffer(b.mul(whole_tiles, self.stride))
        self.sums = b.scratch(self.width, self.i32) if self.kind.shifted else None
        self._copy_a(a_bytes)
        self._clear_sums()
        if self.accesses[self.con.b].strides[self.con.k[0]] == 1:
            self._transpose_b(b_groups)
        else:
            self._copy_b(b_bytes)
        self._negate_sums()
        holder = self._body()
        grouped = self._grouped(a_groups, b_groups, holder.regions[0].blocks[0])
        emit_matrix_product(b, grouped, self.target, self.initial)
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

    def _copy_b(self, target: FlatView) -> None:
        """B to [K / group][N], groups interleaved from as many rows; columns and rows that do not
        exist are zeros."""
        b, con, group = self.b, self.con, self.kind.group
        access = self.accesses[con.b]
        whole = b.floordiv(self.depth, group)
        column_step = access.strides[con.column]
        contiguous = isinstance(column_step, int) and column_step == 1

        def rows(k_group: Index, exist: Index) -> None:
            with b.loop(0, self.width, _LANES) as column:
                mask = b.mask(_LANES, b.sub(self.columns, column))
                parts = [
                    self._b_row(access, b.add(b.mul(k_group, group), i), column, mask, i, exist)
                    if contiguous
                    else self._b_gathered(access, b.mul(k_group, group), column, i, exist)
                    for i in range(group)
                ]
                at = b.mul(b.add(b.mul(k_group, self.stride), column), group)
                packed = self._interleaved(parts)
                b.store(packed, target, at)
                self._add_to_sums(packed, column)

        with b.loop(0, whole) as k_group:
            rows(k_group, group)
        rest = b.sub(self.depth, b.mul(whole, group))
        b.when(b.at_least(rest, 1), lambda: rows(whole, rest))

    def _transpose_b(self, target: FlatView) -> None:
        """B whose columns are contiguous along K to [K / group][N], by square tiles of groups."""
        b, con, group = self.b, self.con, self.kind.group
        access = self.accesses[con.b]
        assert access.view is not None
        view, step = access.view, access.strides[con.column]
        lanes = _LANES * group
        groups = b.vector_type(_LANES, self.i32)
        with b.loop(0, self.width, _LANES) as column, b.loop(0, self.groups, _LANES) as k_group:
            k = b.mul(k_group, group)
            mask = b.mask(lanes, b.sub(self.depth, k))
            lines: list[ir.Value] = []
            for lane in range(_LANES):
                own = b.minimum(b.add(column, lane), b.sub(self.columns, 1))
                offset = b.add(b.add(access.base, k), b.mul(own, step))
                loaded = b.load(view, offset, lanes, mask)
                lines.append(b.op("vector.bitcast", groups, [loaded]))
            for row, value in enumerate(transpose_vectors(b, lines)):
                at = b.add(b.mul(b.add(k_group, row), self.stride), column)
                b.store(value, target, at)
                self._add_to_sums(value, column)

    def _b_row(
        self, access: Access, k: Index, column: Index, mask: ir.Value, i: int, exist: Index
    ) -> ir.Value:
        b = self.b
        assert access.view is not None
        if isinstance(exist, int) and i >= exist:
            return b.zero(b.vector_type(_LANES, self.element))
        if not isinstance(exist, int):
            k = b.minimum(k, b.sub(self.depth, 1))
        offset = b.add(access.base, b.mul(k, access.strides[self.con.k[0]]))
        value = b.load(access.view, b.add(offset, column), _LANES, mask)
        return self._if_exists(value, i, exist)

    def _if_exists(self, value: ir.Value, i: int, exist: Index) -> ir.Value:
        if isinstance(exist, int):
            return value
        b = self.b
        there = b.compare("sgt", exist, i)
        return b.op("arith.select", value.type, [there, value, b.zero(value.type)])

    def _b_gathered(
        self, access: Access, k: Index, column: Index, i: int, exist: Index
    ) -> ir.Value:
        """Elements of columns that are apart, one by one."""
        b = self.b
        assert access.view is not None
        zeros = b.zero(b.vector_type(_LANES, self.element))
        if isinstance(exist, int) and i >= exist:
            return zeros
        at = b.minimum(b.add(k, i), b.sub(self.depth, 1))
        start = b.add(access.base, b.mul(at, access.strides[self.con.k[0]]))
        step = access.strides[self.con.column]
        value = zeros
        for lane in range(_LANES):
            own = b.minimum(b.add(column, lane), b.sub(self.columns, 1))
            element = b.load(access.view, b.add(start, b.mul(own, step)), 1)
            position = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
            value = b.op("vector.insert", value.type, [element, value], position)
        mask = b.mask(_LANES, b.sub(self.columns, column))
        value = b.op("arith.select", value.type, [mask, value, zeros])
        return self._if_exists(value, i, exist)

    def _interleaved(self, parts: list[ir.Value]) -> ir.Value:
        while len(parts) > 1:
            half = len(parts) // 2
            lanes = ir.VectorType(parts[0].type).shape[0] * 2
            type_ = self.b.vector_type(lanes, self.element)
            parts = [
                self.b.op("vector.interleave", type_, [parts[i], parts[i + half]])
                for i in range(half)
            ]
        return parts[0]

    # The shift of signed bytes

    def _clear_sums(self) -> None:
        if self.sums is None:
            return
        zeros = self.b.zero(self.b.vector_type(_LANES, self.i32))
        with self.b.loop(0, self.width, _LANES) as column:
            self.b.store(zeros, self.sums, column)

    def _add_to_sums(self, packed: ir.Value, column: Index) -> None:
        """Add 128 times a group of B to the sums of its columns."""
        if self.sums is None:
            return
        shift = self.b.broadcast(self.b.scalar(-0x7F7F7F80, self.i32), _LANES)  # four times 0x80
        before = self.b.load(self.sums, column, _LANES)
        as_groups = self.b.op("vector.bitcast", before.type, [packed])
        self.b.store(self._multiply(shift, as_groups, before), self.sums, column)

    def _negate_sums(self) -> None:
        """What the shift of A adds too much, so that C starts from less."""
        if self.sums is None:
            return
        zeros = self.b.zero(self.b.vector_type(_LANES, self.i32))
        with self.b.loop(0, self.width, _LANES) as column:
            added = self.b.load(self.sums, column, _LANES)
            self.b.store(self.b.op("arith.subi", zeros.type, [zeros, added]), self.sums, column)

    # The product of groups

    def _multiply(self, a: ir.Value, column: ir.Value, accumulator: ir.Value) -> ir.Value:
        return group_product(self.b, self.kind, self.element, (a, column, accumulator))

    def _body(self) -> ir.Operation:
        """An operation that holds a body of the right types, which says how to add; to be erased
        after use."""
        is_float = isinstance(self.element, ir.FloatType)
        accumulator = ir.F32Type.get() if is_float else self.i32
        holder = ir.Operation.create("scf.execute_region", results=[], operands=[], regions=1)
        block = holder.regions[0].blocks.append(self.i32, self.i32, accumulator)
        with ir.InsertionPoint(block):
            a, _, total = block.arguments
            value = self.b.op("arith.bitcast", accumulator, [a]) if is_float else a
            name = "arith.addf" if is_float else "arith.addi"
            total = self.b.op(name, accumulator, [total, value])
            ir.Operation.create("linalg.yield", results=[], operands=[total])
        return holder

    def _grouped(self, a: FlatView, groups: FlatView, block: ir.Block) -> Contraction:
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
        operands[con.b] = Operand(groups.value, self.i32, (ZERO, ONE, extent(self.stride)))
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
            start=self.sums,
        )
