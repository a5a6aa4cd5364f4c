"""`tir-lower-tensor-cores`: TVM's tensor core intrinsics to nvgpu and nvvm operations.

    T.ptx_ldmatrix   nvgpu.ldmatrix, a store of the thread's registers
    T.ptx_mma        loads of the registers of A, B and C, nvgpu.mma.sync, a store of C's
    T.ptx_wgmma      descriptors of A and B, nvvm.wgmma.mma_async of a slice, its wait
    T.mma_fill, T.mma_store and the WMMA intrinsics of TVM: the same fragments

Fragments of both families lie in registers as `mma.sync` wants them; what WMMA leaves open is open
here too.  WMMA's calls are those of a whole warp: they get a loop over its threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import AccessOp, ReadOp, WriteOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import spread_space, workgroup_space
from relax_mlir.lowering.tir_to_gpu.fragments import (
    WARP_SIZE,
    Place,
    erase_unused,
    integer_index,
    lane_of,
    linear_place,
    offset_in,
    pointer_place,
    thread_of,
    view_place,
)
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    callee_of,
    describe,
    function_name,
    inside,
)
from relax_mlir.lowering.tir_to_gpu.mma import multiply
from relax_mlir.lowering.tir_to_gpu.wgmma import Operand, first_row, multiply_slice
from relax_mlir.mlir import arith, ir, memref, vector
from relax_mlir.tir.math_ops import constant_attribute
from relax_mlir.tir.schedule.index import Index, as_index, floordiv, leaf, mod
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import add_access, alloc_buffer, buffer_shape, new_loop

__all__ = ["LowerTensorCores"]

_WMMA = "wmma."
_WMMA_FACTORS = {"f16": "fp16", "bf16": "bf16", "i8": "int8"}
"""Element of WMMA's operands -> the name of `ptx_mma` for it."""
_PAIRS = ((16, 16), (32, 16), (16, 32), (16, 8), (8, 16))
_WMMA_TILES = {
    "f16": _PAIRS,
    "bf16": _PAIRS,
    "i8": ((16, 16),),
    "sums": ((16, 16), (32, 8), (8, 32)),
}
"""What tiles WMMA's operands, by their element, and sums have in memory."""
_SHARED = "shared"


@register_pass("tir-lower-tensor-cores")
@dataclass(frozen=True)
class LowerTensorCores(Pass):
    """Lower tensor core intrinsics and the buffers of their fragments."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes and len(function.regions[0].blocks):
                _Lowering(function).run()


@dataclass
class _Fragment:
    """A buffer of fragments: `own` is the thread's part of it; `tile` the rows and columns of a
    WMMA tile, None for a buffer with a dimension of threads."""

    own: ir.Value
    registers: int
    tile: tuple[int, int] | None


class _Lowering:
    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self.fragments: dict[ir.Value, _Fragment] = {}

    def run(self) -> None:
        operations = list(inside(self.function))
        calls = [op for op in operations if callee_of(op) in _HANDLERS]
        scopes = {
            op.results[0]: ir.StringAttr(op.attributes["scope"]).value
            for op in operations
            if op.name == "tir.alloc_buffer"
        }
        for buffer, scope in scopes.items():
            if scope == "warp" or scope.startswith(_WMMA):
                self._add_fragment(buffer, scope, calls)
        for call in calls:
            _with_lanes(call)
            with ir.InsertionPoint(call), call.location:
                _HANDLERS[callee_of(call)](self, call)
            call.erase()
        if calls:
            erase_unused(self.function)
        for buffer, fragment in self.fragments.items():
            self._replace(buffer, fragment)

    def _add_fragment(self, buffer: ir.Value, scope: str, calls: Sequence[ir.Operation]) -> None:
        kind = ir.MemRefType(buffer.type)
        shape = buffer_shape(buffer)
        if scope == "warp":
            if len(shape) < 2 or shape[-2].as_constant() != WARP_SIZE:
                return
            sizes, tile, registers = [*shape[:-2], shape[-1]], None, kind.shape[-1]
        else:
            tile = _tile_of(buffer, calls)
            if tile is None:
                return
            self._require_wmma_tile(buffer, scope, tile)
            registers = tile[0] * tile[1] // WARP_SIZE
            grid = [
                floordiv(size + (length - 1), Index({}, length))
                for size, length in zip(shape[-2:], tile, strict=True)
            ]
            sizes = [*shape[:-2], *grid, Index({}, registers)]
        op = buffer.owner.operation
        made = alloc_buffer(
            describe(buffer), sizes, kind.element_type, "local", ir.InsertionPoint(op)
        )
        self.fragments[buffer] = _Fragment(made.operation.results[0], registers, tile)

    def _require_wmma_tile(self, buffer: ir.Value, scope: str, tile: tuple[int, int]) -> None:
        element = ir.MemRefType(buffer.type).element_type
        kind = "sums" if scope.endswith("accumulator") else str(element)
        if tile not in _WMMA_TILES.get(kind, ()):
            raise CompileError(
                f"{function_name(self.function)}: {describe(buffer)} has WMMA tiles of "
                f"{tile[0]} x {tile[1]} {element}; those of m16n16k16, and without int8 "
                "of m32n8k16 and m8n32k16, with operands of float16, bfloat16 or int8 are compiled",
                hint="use the shape m16n16k16, or the mma intrinsics, which have more dtypes",
            )

    # -- places -------------------------------------------------------------------------------

    def lane(self, op: ir.Operation) -> ir.Value:
        """The thread's number in its warp."""
        lane = lane_of(op)
        if lane is None:
            raise CompileError(
                f"{function_name(op)}: a fragment is used outside of loops bound to threadIdx.x",
                hint="bind a loop of 32 iterations to threadIdx.x: the threads of a warp",
            )
        return lane

    def registers(self, op: ir.Operation, view: ir.Value, offset: Index | None) -> Place:
        """The thread's registers of a fragment, given its view and the offset of an element."""
        place = view_place(view)
        fragment = self.fragments.get(place.buffer)
        if fragment is None:
            raise CompileError(
                f"{function_name(op)}: {callee_of(op)} takes fragments, and "
                f"{describe(place.buffer)} is none",
                hint="a fragment is a buffer of scope 'warp' and shape (..., 32, registers), or "
                "of a scope 'wmma....'",
            )
        if fragment.tile is not None:
            rows, columns = (Index({}, size) for size in fragment.tile)
            *outer, i, j = place.indices
            tile = (*outer, floordiv(i, rows), floordiv(j, columns))
            return Place(fragment.own, (*tile, Index()))
        first = Index() if offset is None else offset
        own = first - leaf(self.lane(op)) * fragment.registers
        at = own if own.is_constant else first
        if not at.is_constant:
            raise CompileError(
                f"{function_name(op)}: {callee_of(op)} uses registers of another thread",
                hint=f"the offset of a thread's first is {fragment.registers} * threadIdx.x",
            )
        return Place(fragment.own, (*place.indices[:-2], at))

    def load(self, place: Place, count: int) -> ir.Value:
        """So many registers as a vector."""
        kind = ir.VectorType.get([count], ir.MemRefType(place.buffer.type).element_type)
        return vector.LoadOp(kind, place.buffer, self.indices(place)).result

    def store(self, value: ir.Value, place: Place) -> None:
        vector.StoreOp(value, place.buffer, self.indices(place))

    def indices(self, place: Place) -> list[ir.Value]:
        at = ir.InsertionPoint.current
        return [write(index, at, ir.Location.current) for index in place.indices]

    # -- the intrinsics -----------------------------------------------------------------------

    def ldmatrix(self, op: ir.Operation) -> None:
        transposed, _, target, offset, pointer, steps = op.operands
        trans = integer_index(transposed).as_constant() != 0
        registers = self.registers(op, target, offset_in(target, offset))
        source = linear_place(pointer_place(pointer), integer_index(steps))
        self.load_matrices(source, registers, transpose=trans)

    def load_matrices(
        self, source: Place, registers: Place, count: int = 4, *, transpose: bool
    ) -> None:
        """`ldmatrix` of matrices of eight rows of 16 bytes: `source` is this thread's row."""
        _into_shared_space(source.buffer)
        element = ir.MemRefType(source.buffer.type).element_type
        lanes = 32 // _bits(element)
        made = ir.Operation.create(
            "nvgpu.ldmatrix",
            results=[ir.VectorType.get([count, lanes], element)],
            operands=[source.buffer, *self.indices(source)],
            attributes={
                "transpose": ir.BoolAttr.get(transpose),
                "numTiles": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count),
            },
        )
        flat = ir.VectorType.get([count * lanes], element)
        self.store(vector.shape_cast(flat, made.results[0]), registers)

    def mma(self, op: ir.Operation) -> None:
        shape, _, _, *kinds = (
            ir.StringAttr(x).value for x in list(ir.ArrayAttr(op.attributes["literals"]))[:6]
        )
        a, at_a, b, at_b, c, at_c, *_ = op.operands
        places = [
            self.registers(op, view, offset_in(view, offset))
            for view, offset in ((a, at_a), (b, at_b), (c, at_c))
        ]
        self.multiply(op, shape, kinds[0], places)

    def multiply(self, op: ir.Operation, shape: str, kind: str, places: Sequence[Place]) -> None:
        """`C += A * B` of one instruction; `shape` such as m16n8k16."""
        m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
        counts = [m * k // WARP_SIZE, n * k // WARP_SIZE, m * n // WARP_SIZE]
        values = [self.load(p, count) for p, count in zip(places, counts, strict=True)]
        made = multiply(op, (m, n, k), kind, values)
        self.store(made, places[2])

    def multiply_slice(self, op: ir.Operation) -> None:
        shape, kind = (
            ir.StringAttr(x).value for x in list(ir.ArrayAttr(op.attributes["literals"]))[:2]
        )
        transposed, a, b, c, at_c = op.operands
        place = self.registers(op, c, offset_in(c, at_c))
        *outer, row, k = pointer_place(a).indices
        warp = thread_of(op, "threadIdx.y")
        rows = Place(pointer_place(a).buffer, (*outer, first_row(op, row, warp), k))
        by_products = integer_index(transposed).as_constant() == 0
        operands = (Operand(rows, False), Operand(pointer_place(b), by_products))
        for operand in operands:
            # Where tiles begin at multiples of their pattern.
            _into_shared_space(operand.start.buffer, "shared.dyn")
        count = ir.MemRefType(place.buffer.type).shape[-1]
        self.store(multiply_slice(op, shape, kind, *operands, self.load(place, count)), place)

    def fill(self, op: ir.Operation) -> None:
        _, target, offset = op.operands
        self.fill_with(self.registers(op, target, offset_in(target, offset)), None)

    def fill_with(self, place: Place, value: ir.Value | None) -> None:
        kind = ir.MemRefType(place.buffer.type)
        vector_kind = ir.VectorType.get([kind.shape[-1]], kind.element_type)
        if value is None:
            filled = arith.constant(vector_kind, constant_attribute(vector_kind, 0))
        else:
            filled = vector.broadcast(vector_kind, value)
        self.store(filled, place)

    def store_sums(self, op: ir.Operation) -> None:
        _, columns, pointer, source, offset, _ = op.operands
        place = self.registers(op, source, offset_in(source, offset))
        count = integer_index(columns).as_constant()
        self.store_tile(op, pointer_place(pointer), place, 16 if count is None else count)

    def store_tile(
        self, op: ir.Operation, target: Place, registers: Place, columns: int = 16
    ) -> None:
        """Write 16 rows of sums: a thread has pairs in two rows and each eight columns."""
        lane = leaf(self.lane(op))
        row, column = self.row_and_column(lane)
        for half in range(columns // 8):
            for below in (0, 1):
                pair = self.load(registers.moved(4 * half + 2 * below), 2)
                place = target.moved(row + 8 * below, column + 8 * half)
                vector.StoreOp(pair, place.buffer, self.indices(place))

    def row_and_column(self, lane: Index) -> tuple[Index, Index]:
        four = Index({}, 4)
        return mod(floordiv(lane, four), Index({}, 8)), mod(lane, four) * 2

    # -- WMMA ---------------------------------------------------------------------------------

    def wmma_fill(self, op: ir.Operation) -> None:
        target, value = op.operands[0], list(op.operands)[-1]
        place = self.registers(op, target, None)
        element = ir.MemRefType(place.buffer.type).element_type
        if value.type != element:
            value = _converted(value, element)
        self.fill_with(place, value)

    def wmma_load(self, op: ir.Operation) -> None:
        """Of tiles of 8 rows the product is made transposed, as are their operands: B is the first
        factor there, read by the other order of its elements."""
        operands = list(op.operands)
        target, pointer = operands[0], operands[5]
        m, n = (integer_index(v).constant for v in operands[1:3])
        layout = ir.StringAttr(list(ir.ArrayAttr(op.attributes["literals"]))[-1]).value
        fragment = view_place(target).buffer
        scope = ir.StringAttr(fragment.owner.operation.attributes["scope"]).value
        source, lane = pointer_place(pointer), leaf(self.lane(op))
        is_b, swaps = scope.endswith("matrix_b"), m == _FEW
        is_second, by_columns = is_b != swaps, (layout == "col_major") != swaps
        registers = self.registers(op, target, None)
        if _bits(ir.MemRefType(registers.buffer.type).element_type) == 8:
            self.load_bytes(source, registers, lane, by_products=is_b == by_columns)
            return
        extent = n if is_b else m
        for part in range(-(-extent // 16)):
            start = (16 * part, 0) if is_second == by_columns else (0, 16 * part)
            row, column = _row_of_lane(lane, by_columns, extent)
            self.load_matrices(
                source.moved(row + start[0], column + start[1]),
                registers.moved(8 * part),
                min(4, extent // 4),
                transpose=is_second != by_columns,
            )

    def load_bytes(
        self, source: Place, registers: Place, lane: Index, *, by_products: bool
    ) -> None:
        """A tile of bytes, of which `ldmatrix` would move pairs: a thread has four that follow each
        other along the products, in two rows of A or columns of B.  `by_products` says that those
        lie beside each other in memory."""
        four = Index({}, 4)
        row, first = floordiv(lane, four), mod(lane, four) * 4
        for below in (0, 1):
            if by_products:
                place = source.moved(row + 8 * below, first)
                self.store(self.load(place, 4), registers.moved(4 * below))
                continue
            for number in range(4):
                place = source.moved(first + number, row + 8 * below)
                byte = memref.load(place.buffer, self.indices(place))
                memref.store(
                    byte, registers.buffer, self.indices(registers.moved(4 * below + number))
                )

    def wmma_store(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        place, target = self.registers(op, operands[0], None), pointer_place(operands[5])
        m, n = (integer_index(v).constant for v in operands[1:3])
        if m == n:
            self.store_tile(op, target, place)
            return
        row, column = self.row_and_column(leaf(self.lane(op)))
        for number in range(4):  # eight rows of sums, or columns where they are transposed
            pair = self.load(place.moved(2 * number), 2)
            long = row + 8 * number
            if n == _FEW:
                at = target.moved(long, column)
                vector.StoreOp(pair, at.buffer, self.indices(at))
                continue
            for lane in (0, 1):
                at = target.moved(column + lane, long)
                memref.store(vector.extract(pair, [], [lane]), at.buffer, self.indices(at))

    def wmma_multiply(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        c, a, b = (self.registers(op, operands[n], None) for n in (0, 2, 4))
        kind = _WMMA_FACTORS[str(ir.MemRefType(a.buffer.type).element_type)]
        sizes = [ir.MemRefType(factor.buffer.type).shape[-1] for factor in (a, b)]
        if sizes[0] < sizes[1]:
            a, b = b, a
        step = (0, 4) if sizes[0] == sizes[1] else (8, 0)
        for part in (0, 1):
            factors = (a.moved(step[0] * part), b.moved(step[1] * part))
            self.multiply(op, "m16n8k16", kind, [*factors, c.moved(4 * part)])

    # -- buffers ------------------------------------------------------------------------------

    def _replace(self, buffer: ir.Value, fragment: _Fragment) -> None:
        """Let what else uses a buffer of fragments use the thread's part."""
        for use in list(buffer.uses):
            op = use.owner.operation
            with ir.InsertionPoint(op), op.location:
                view = op.opview
                if isinstance(view, AccessOp):
                    self._declare(view, fragment)
                    op.erase()
                elif op.name in ("memref.load", "memref.store") and fragment.tile is None:
                    self._own_element(op, fragment)
        if any(True for _ in buffer.uses):
            raise CompileError(
                f"{function_name(self.function)}: the fragments of {describe(buffer)} are used by "
                f"{next(iter(buffer.uses)).owner.operation.name}",
                hint="fragments are loaded, multiplied and stored by tensor core intrinsics",
            )
        buffer.owner.operation.erase()

    def _declare(self, access: AccessOp, fragment: _Fragment) -> None:
        offsets = [as_index(o) for o in access.mixed_offsets]
        sizes = [as_index(s) for s in access.mixed_sizes]
        region = list(zip(offsets, sizes, strict=True))
        whole = (Index(), Index({}, fragment.registers))
        if fragment.tile is None:
            region = [*region[:-2], whole]
        else:
            tiles = [
                (floordiv(o, Index({}, t)), floordiv(s + (t - 1), Index({}, t)))
                for (o, s), t in zip(region[-2:], fragment.tile, strict=True)
            ]
            region = [*region[:-2], *tiles, whole]
        kind = ReadOp if isinstance(access, ReadOp) else WriteOp
        add_access(kind, fragment.own, region, ir.InsertionPoint(access))

    def _own_element(self, op: ir.Operation, fragment: _Fragment) -> None:
        first = 1 if op.name == "memref.load" else 2
        operands = list(op.operands)
        indices = [as_index(v) for v in operands[first:]]
        if indices[-2] != leaf(self.lane(op)):
            raise CompileError(
                f"{function_name(op)}: a thread uses elements of {describe(operands[first - 1])} "
                "that belong to other threads of its warp",
                hint="exchange them through shared memory, or by T.tvm_warp_shuffle",
            )
        kept = [*operands[first:-2], operands[-1]]
        if op.name == "memref.load":
            op.results[0].replace_all_uses_with(memref.load(fragment.own, kept))
        else:
            memref.store(operands[0], fragment.own, kept)
        op.erase()


_FEW = 8
"""Rows or columns of the flat tiles of WMMA, which have 32 of the others."""


def _row_of_lane(lane: Index, by_columns: bool, extent: int) -> tuple[Index, Index]:
    """The row of 16 bytes that a thread gives `ldmatrix`: those of memory, which has the columns of
    a matrix there `by_columns`."""
    eight, within = mod(floordiv(lane, Index({}, 8)), Index({}, 2)), mod(lane, Index({}, 8))
    half = mod(floordiv(lane, Index({}, 16)), Index({}, 2)) if extent > _FEW else Index()
    if by_columns:
        return half * 8 + within, eight * 8
    return mod(lane, Index({}, 16)), half * 8


def _with_lanes(call: ir.Operation) -> None:
    """A loop over the threads of a warp around a call that is not in one."""
    if lane_of(call) is None:
        loop = new_loop(
            "lane",
            WARP_SIZE,
            ir.InsertionPoint(call),
            kind="thread_binding",
            attributes={"thread": ir.StringAttr.get("threadIdx.x")},
        )
        call.detach_from_parent()
        loop.block.append(call)


def _bits(kind: ir.Type) -> int:
    assert isinstance(kind, (ir.IntegerType, ir.FloatType)), "fragments are of numbers"
    return kind.width


def _converted(value: ir.Value, kind: ir.Type) -> ir.Value:
    if isinstance(kind, ir.IntegerType):
        return arith.fptosi(kind, value)
    convert = arith.truncf if _bits(kind) < _bits(value.type) else arith.extf
    return convert(kind, value)


def _into_shared_space(buffer: ir.Value, wanted: str = _SHARED) -> None:
    """Give a buffer of a shared scope its memory space, which the matrix operations ask for."""
    kind = ir.MemRefType(buffer.type)
    owner = buffer.owner
    scope = "" if isinstance(owner, ir.Block) else str(owner.operation.attributes["scope"])
    if wanted not in scope:
        raise CompileError(
            f"tensor cores load {describe(buffer)}, which is not in memory of scope '{wanted}'",
            hint=f"cache_read it with scope '{wanted}' first",
        )
    if kind.memory_space is None:
        buffer.set_type(
            ir.MemRefType.get(kind.shape, kind.element_type, kind.layout, workgroup_space())
        )
        spread_space(buffer)


def _tile_of(buffer: ir.Value, calls: Sequence[ir.Operation]) -> tuple[int, int] | None:
    """The rows and columns of a WMMA tile, from the views that the intrinsics take."""
    for call in calls:
        for value in call.operands:
            if isinstance(value.type, ir.MemRefType) and view_place(value).buffer == buffer:
                shape = list(ir.MemRefType(value.type).shape)
                return shape[-2], shape[-1]
    return None


_HANDLERS: dict[str, Callable[[_Lowering, ir.Operation], None]] = {
    "ptx_ldmatrix": _Lowering.ldmatrix,
    "ptx_mma": _Lowering.mma,
    "ptx_wgmma": _Lowering.multiply_slice,
    "mma_fill": _Lowering.fill,
    "mma_store": _Lowering.store_sums,
    "tvm_fill_fragment": _Lowering.wmma_fill,
    "tvm_load_matrix_sync": _Lowering.wmma_load,
    "tvm_store_matrix_sync": _Lowering.wmma_store,
    "tvm_mma_sync": _Lowering.wmma_multiply,
}
