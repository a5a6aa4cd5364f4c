"""TVM's intrinsics that a CPU can run, one row each; `tir-lower-calls` asks for them.

What has no row here is refused when it is compiled, with what it would need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.errors import CompileError
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.llvm_module import pointer_type
from relax_mlir.lowering.to_llvm.lower_pointers import address_of_data, moved
from relax_mlir.mlir import arith, ir

__all__ = ["is_scalable", "lower_intrinsic", "refuse_scalable"]

Argument = str | ir.Value
Lowering = Callable[[ir.Operation, ir.Operation, Sequence[Argument]], "ir.Value | None"]


def lower_intrinsic(
    function: ir.Operation, op: ir.Operation, name: str, arguments: Sequence[Argument]
) -> ir.Value | None:
    """Lower the call `op` of an intrinsic in a function, at the insertion point; its value.

    Raises CompileError for one that has no meaning on a CPU.
    """
    lower = _LOWER.get(name)
    if lower is None:
        needed = next((why for prefix, why in _NEEDS if name.startswith(prefix)),
                      "the CPU has no code for it")  # fmt: skip
        raise CompileError(f"{symbol_name(function)}: no code generator for the intrinsic "
                           f"{name!r} {_where(op)}: {needed}",
                           hint="T.call_extern calls a C function in its place")  # fmt: skip
    return lower(function, op, arguments)


_NO_THREADS = "a CPU runs the iterations of thread-bound loops one after the other"
_NEEDS = (
    ("ptx_", "it is an instruction of NVIDIA GPUs; build for target \"cuda\""),
    ("mma_", "it is an instruction of NVIDIA GPUs; build for target \"cuda\""),
    ("tvm_mma", "it works on fragments of tensor cores; build for target \"cuda\""),
    ("tvm_load_matrix", "it works on fragments of tensor cores; build for target \"cuda\""),
    ("tvm_store_matrix", "it works on fragments of tensor cores; build for target \"cuda\""),
    ("tvm_fill_fragment", "it works on fragments of tensor cores; build for target \"cuda\""),
    ("tvm_storage_sync", _NO_THREADS),
    ("tvm_warp", _NO_THREADS),
    ("tvm_thread_allreduce", _NO_THREADS),
    ("simdgroup", "it is an instruction of Apple's GPUs"),
    ("call_kernel", "its source is for a compiler of GPU kernels"),
)  # fmt: skip


def is_scalable(kind: ir.Type) -> bool:
    """Whether a vector has as many lanes as the machine chooses."""
    return isinstance(kind, ir.VectorType) and any(kind.scalable_dims)


def refuse_scalable(function: ir.Operation, op: ir.Operation) -> None:
    """Raise CompileError for an operation on scalable vectors, on which LLVM would end the
    process."""
    raise CompileError(
        f"{symbol_name(function)}: no code generator for the scalable vector "
        f"{op.results[0].type} of '{op.name}' {_where(op)}: no machine here has them",
        hint="a constant number of lanes, without T.vscale(), is compiled",
    )


def _where(op: ir.Operation) -> str:
    return f"at {op.location}".replace("loc(", "").rstrip(")")


def _pointer(value: Argument) -> ir.Value:
    if isinstance(value, str):
        raise CompileError("an address is expected, not a string")
    return address_of_data(value) if isinstance(value.type, ir.MemRefType) else value


def _value(argument: Argument) -> ir.Value:
    assert not isinstance(argument, str), "the intrinsic takes values"
    return argument


def _as_index(value: Argument) -> ir.Value:
    number = _value(value)
    index = ir.IndexType.get()
    return number if number.type == index else arith.index_cast(index, number)


def _nothing(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    """A hint, or the dtype of an address: an unused result is nothing."""
    if len(op.results) and any(True for _ in op.results[0].uses):
        return _zero(op.results[0].type)
    return None


def _zero(kind: ir.Type) -> ir.Value:
    if kind == pointer_type():
        return ir.Operation.create("llvm.mlir.zero", [kind]).result
    if isinstance(kind, ir.FloatType):
        return arith.constant(kind, 0.0)
    return arith.constant(kind, 0)


def _first(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    return _value(arguments[0])


def _vscale(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    """Vectors here are of fixed length: a program that is right for every scale is for one."""
    return arith.constant(op.results[0].type, 1)


def _is_null(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    wide = ir.IntegerType.get_signless(64)
    number = ir.Operation.create("llvm.ptrtoint", [wide], [_pointer(arguments[0])]).result
    return arith.cmpi(arith.CmpIPredicate.eq, number, arith.constant(wide, 0))


def _access_pointer(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    """`T.tvm_access_ptr(type, data, offset, extent, mask)`."""
    kind, data, offset = arguments[:3]
    return moved(_pointer(data), _as_index(offset), _value(kind).type)


def _byte_offset(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    byte = ir.IntegerType.get_signless(8)
    return moved(_pointer(arguments[0]), _as_index(arguments[1]), byte)


def _atomic_add(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    """What was there before; the addition is one step for all threads."""
    value = _value(arguments[1])
    is_float = isinstance(value.type, ir.FloatType)
    number = ir.IntegerType.get_signless(64)
    return ir.Operation.create(
        "llvm.atomicrmw",
        [value.type],
        [_pointer(arguments[0]), value],
        attributes={
            # LLVM's numbers of the operations and of the ordering "monotonic".
            "bin_op": ir.IntegerAttr.get(number, 11 if is_float else 1),
            "ordering": ir.IntegerAttr.get(number, 2),
        },
    ).result


def _return(
    function: ir.Operation, op: ir.Operation, arguments: Sequence[Argument]
) -> ir.Value | None:
    """`T.ret(value)`, where it is the last statement of a function."""
    body = function.regions[0].blocks[0]
    operations = [o.operation for o in body.operations]
    last = op.block == body and operations.index(op) == len(operations) - 2
    if not last:
        raise CompileError(f"{symbol_name(function)}: T.ret {_where(op)} is not the last statement",
                           hint="put what follows under a condition")  # fmt: skip
    value = _value(arguments[0])
    operations[-1].erase()
    with ir.InsertionPoint(body):
        ir.Operation.create("func.return", operands=[value])
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(kind.inputs, [value.type])
    )
    return None


_LOWER: dict[str, Lowering] = {
    "type_annotation": _nothing,
    "evaluate": _nothing,
    "prefetch": _nothing,
    "assume": _nothing,
    "ignore_loop_partition": _nothing,
    "tvm_thread_invariant": _first,
    "large_uint_imm": _first,
    "vscale": _vscale,
    "isnullptr": _is_null,
    "tvm_access_ptr": _access_pointer,
    "ptr_byte_offset": _byte_offset,
    "handle_add_byte_offset": _byte_offset,
    "atomic_add": _atomic_add,
    "ret": _return,
}
"""Name -> lowering."""
