"""`tir-lower-pointers`: memory by address, to buffers where it is known and to pointers elsewhere.

A buffer declared on the data of another of the same element type is that buffer seen in another
shape (`memref.reinterpret_cast`); one on any other address is a memref made of a pointer.  What has
two names then is not understood by passes that move accesses: such a function is marked
(`tir.addresses`) and its loops run as they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.errors import CompileError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_scf.structure import index_value
from relax_mlir.lowering.to_llvm.ffi_abi import memref_descriptor
from relax_mlir.lowering.to_llvm.ffi_signature import is_prim_func, symbol_name
from relax_mlir.lowering.to_llvm.llvm_module import pointer_type
from relax_mlir.mlir import arith, dynamic, ir, memref, operations_named

__all__ = ["ADDRESSES", "LowerPointers", "address_of_data", "moved"]

ADDRESSES = "tir.addresses"
"""Marks a function whose buffers may share memory."""


@register_pass("tir-lower-pointers")
@dataclass(frozen=True)
class LowerPointers(Pass):
    """Lower addresses, buffers declared on them and constant storage."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if not is_prim_func(function):
                continue
            found = operations_named(function, _LOWER)
            # First those on the data of a buffer, which is known by the operation that gives it.
            for op in sorted(found, key=lambda op: op.name != "tir.decl_buffer"):
                if op.name != "tir.alloc_const":
                    function.attributes[ADDRESSES] = ir.UnitAttr.get()
                if any(True for _ in op.results[0].uses):
                    with ir.InsertionPoint(op), op.location:
                        made = _LOWER[op.name](state, function, op)
                    op.results[0].replace_all_uses_with(made)
                op.erase()


def _buffer_data(state: ModuleState, function: ir.Operation, op: ir.Operation) -> ir.Value:
    return address_of_data(op.operands[0])


def address_of_data(buffer: ir.Value) -> ir.Value:
    """Where a buffer's storage starts, at the insertion point: its offset is not counted."""
    index = ir.IndexType.get()
    start = memref.ExtractAlignedPointerAsIndexOp(buffer, results=[index]).result
    wide = ir.IntegerType.get_signless(64)
    number = arith.index_cast(wide, start)
    return ir.Operation.create("llvm.inttoptr", [pointer_type()], [number]).result


def moved(pointer: ir.Value, elements: ir.Value, element: ir.Type) -> ir.Value:
    """The address some elements (an index) further on."""
    wide = ir.IntegerType.get_signless(64)
    distance = arith.muli(elements, arith.constant(ir.IndexType.get(), _bytes(element)))
    number = ir.Operation.create("llvm.ptrtoint", [wide], [pointer]).result
    number = arith.addi(number, arith.index_cast(wide, distance))
    return ir.Operation.create("llvm.inttoptr", [pointer_type()], [number]).result


def _bytes(element: ir.Type) -> int:
    bits = dtypes.bits(dtypes.from_mlir(element))
    if bits % 8 and bits != 1:
        raise CompileError(f"elements of {bits} bits have no address of their own",
                           hint="use int8")  # fmt: skip
    return max(bits // 8, 1)


def _address_of(state: ModuleState, function: ir.Operation, op: ir.Operation) -> ir.Value:
    buffer, *indices = list(op.operands)
    kind = ir.MemRefType(buffer.type)
    place = _place(buffer, kind, indices)
    return moved(address_of_data(buffer), place, kind.element_type)


def _place(buffer: ir.Value, kind: ir.MemRefType, indices: Sequence[ir.Value]) -> ir.Value:
    """How many elements from the start of the storage an element is."""
    index = ir.IndexType.get()
    strides, offset = kind.get_strides_and_offset()
    if dynamic() in (offset, *strides):
        base = ir.MemRefType.get([], kind.element_type, memory_space=kind.memory_space)
        types = [base, index, *[index] * (2 * kind.rank)]
        layout = ir.Operation.create("memref.extract_strided_metadata", types, [buffer]).results
        total, steps = layout[1], list(layout)[2 + kind.rank :]
    else:
        total = arith.constant(index, offset)
        steps = [arith.constant(index, stride) for stride in strides]
    for position, step in zip(indices, steps, strict=True):
        total = arith.addi(total, arith.muli(position, step))
    return total


def _decl_buffer(state: ModuleState, function: ir.Operation, op: ir.Operation) -> ir.Value:
    kind = ir.MemRefType(op.results[0].type)
    data, *given = list(op.operands)
    strides, offset = kind.get_strides_and_offset()
    name = symbol_name(function)
    sizes = iter(given)
    shape = [next(sizes) if size == dynamic() else size for size in kind.shape]
    steps: list[int | ir.Value] = list(strides)
    if dynamic() in strides:
        if kind.affine_map != ir.AffineMap.get_identity(kind.rank):
            raise CompileError(f"{name}: a declared buffer has strides that are not known",
                               hint="give T.decl_buffer constant strides")  # fmt: skip
        steps = _compact(shape)
    if offset == dynamic():
        raise CompileError(f"{name}: a declared buffer begins at an offset that is not known",
                           hint="declare it on T.address_of(A[...])")  # fmt: skip
    maker = None if isinstance(data.owner, ir.Block) else data.owner.operation
    if maker is not None and maker.name == "tir.buffer_data":
        source = maker.operands[0]
        if ir.MemRefType(source.type).element_type == kind.element_type:
            return _reinterpret(source, kind, shape, steps, offset)
    return _of_pointer(data, kind, shape, steps, offset)


def _compact(shape: Sequence[int | ir.Value]) -> list[int | ir.Value]:
    steps: list[int | ir.Value] = [1]
    for size in reversed(shape[1:]):
        last = steps[0]
        if isinstance(size, int) and isinstance(last, int):
            steps.insert(0, size * last)
        else:
            steps.insert(0, arith.muli(index_value(size), index_value(last)))
    return steps


def _reinterpret(
    source: ir.Value,
    kind: ir.MemRefType,
    shape: Sequence[int | ir.Value],
    steps: Sequence[int | ir.Value],
    offset: int,
) -> ir.Value:
    # The declared type says what is constant; the operation's attributes have to agree.
    strides, _ = kind.get_strides_and_offset()
    groups = [(shape, list(kind.shape)), (steps, strides)]
    values = [[index_value(v) for v, s in zip(g, static, strict=True) if s == dynamic()]
              for g, static in groups]  # fmt: skip
    return memref.ReinterpretCastOp(
        kind, source, [], values[0], values[1], [offset], list(kind.shape), list(strides)
    ).result


def _of_pointer(
    data: ir.Value,
    kind: ir.MemRefType,
    shape: Sequence[int | ir.Value],
    steps: Sequence[int | ir.Value],
    offset: int,
) -> ir.Value:
    """A memref made of its parts, as the llvm dialect holds it."""
    wide = ir.IntegerType.get_signless(64)
    struct = ir.Type.parse(memref_descriptor(kind.rank))
    whole = ir.Operation.create("llvm.mlir.poison", [struct]).result
    parts = [(data, [0]), (data, [1]), (arith.constant(wide, offset), [2])]
    for axis, (size, step) in enumerate(zip(shape, steps, strict=True)):
        parts.append((arith.index_cast(wide, index_value(size)), [3, axis]))
        parts.append((arith.index_cast(wide, index_value(step)), [4, axis]))
    for part, position in parts:
        whole = ir.Operation.create(
            "llvm.insertvalue",
            [struct],
            [whole, part],
            attributes={"position": ir.DenseI64ArrayAttr.get(position)},
        ).result
    return ir.Operation.create("builtin.unrealized_conversion_cast", [kind], [whole]).result


def _alloc_const(state: ModuleState, function: ir.Operation, op: ir.Operation) -> ir.Value:
    kind = ir.MemRefType(op.results[0].type)
    body = state.module.body
    taken = {symbol_name(o.operation) for o in body.operations if "sym_name" in o.attributes}
    stem = f"{symbol_name(function)}_const"
    name = next(n for n in (f"{stem}_{i}" for i in range(len(taken) + 1)) if n not in taken)
    with ir.InsertionPoint.at_block_begin(body):
        memref.GlobalOp(
            ir.StringAttr.get(name),
            ir.TypeAttr.get(kind),
            sym_visibility=ir.StringAttr.get("private"),
            initial_value=op.attributes["value"],
            constant=True,
        )
    return memref.GetGlobalOp(kind, name).result


_LOWER: dict[str, Callable[[ModuleState, ir.Operation, ir.Operation], ir.Value]] = {
    "tir.buffer_data": _buffer_data,
    "tir.address_of": _address_of,
    "tir.decl_buffer": _decl_buffer,
    "tir.alloc_const": _alloc_const,
}
