"""Host code of what is no kernel: inspecting tensors, explicit memory, printing, assertions."""

from __future__ import annotations

from relax_mlir.dialects import dims, dtypes
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.inspect import RESULTS
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.relax_to_host.host_function import HostFunction, operation
from relax_mlir.lowering.relax_to_host.objects import as_tensor, call_global
from relax_mlir.lowering.relax_to_host.shapes import size_error
from relax_mlir.lowering.relax_to_host.structure import condition_of
from relax_mlir.lowering.relax_to_host.values import (
    NoneValue,
    PrimValue,
    ShapeValue,
    StringValue,
    TensorValue,
    Value,
)
from relax_mlir.lowering.to_llvm.ffi_abi import dtype_word
from relax_mlir.lowering.to_llvm.ffi_arguments import compact_strides
from relax_mlir.lowering.to_llvm.ffi_text import call_text
from relax_mlir.mlir import ir

__all__: list[str] = []


def _inspected(host: HostFunction, op: ir.Operation) -> TensorValue:
    info = types.tensor_info(op.operands[0].type)
    rank = info.ndim if info is not None else -1
    value = host.env[op.operands[0]]
    if not isinstance(value, TensorValue) and rank < 0:
        raise host.error(op, "the rank of the tensor is not known; use match_cast first")
    where = f"{host.name}: {op.name}: "
    return as_tensor(host, value, op.operands[0].type, where, rank)


def _byte_offset(host: HostFunction, value: TensorValue) -> str:
    text = host.text
    if value.tensor is None:
        return text.constant(0)
    return text.load(text.field(value.tensor, _DL, 0, 6), "i64")


_DL = "!llvm.struct<(ptr, struct<(i32, i32)>, i32, i32, ptr, ptr, i64)>"


def _scalar(host: HostFunction, name: str, value: TensorValue) -> str:
    text, word = host.text, dtype_word(value.dtype)
    known = {
        "tensor_ndim": len(value.sizes),
        "tensor_dtype_code": word & 255,
        "tensor_dtype_bits": word >> 8 & 255,
        "tensor_dtype_lanes": word >> 16,
    }
    if name in known:
        return text.constant(known[name])
    offset = _byte_offset(host, value)
    if name == "tensor_byte_offset":
        return offset
    size = max(1, dtypes.bits(value.dtype) // 8)
    return text.binary("divsi", offset, text.constant(size))


@operation(*(f"relax.inspect_{name}" for name in RESULTS))
def write_inspect(host: HostFunction, op: ir.Operation) -> None:
    name = op.name.removeprefix("relax.inspect_")
    host.env[op.results[0]] = PrimValue(RESULTS[name], _scalar(host, name, _inspected(host, op)))


@operation("relax.inspect_tensor_shape_i", "relax.inspect_tensor_stride_i")
def write_inspect_axis(host: HostFunction, op: ir.Operation) -> None:
    value = _inspected(host, op)
    axis = host.env[op.operands[1]]
    prim = types.prim_info(op.operands[1].type)
    known = prim[1] if prim is not None else None
    if not isinstance(axis, PrimValue) or not isinstance(known, int):
        raise host.error(op, "the axis must be a constant")
    if not 0 <= known < len(value.sizes):
        raise host.error(op, f"axis {known} of a tensor of rank {len(value.sizes)}")
    strides = value.strides or compact_strides(host.text, value.sizes)
    numbers = value.sizes if op.name.endswith("shape_i") else strides
    host.env[op.results[0]] = PrimValue("int64", numbers[known])


@operation("relax.null_value")
def write_nothing(host: HostFunction, op: ir.Operation) -> None:
    host.env[op.results[0]] = NoneValue()


@operation("relax.memory_alloc_storage", "relax.vm_alloc_storage")
def write_alloc_storage(host: HostFunction, op: ir.Operation) -> None:
    """Storage is a tensor of bytes."""
    size = host.env[op.operands[0]]
    if not isinstance(size, ShapeValue):
        raise host.error(op, "the size of the storage is not known")
    slot = host.owned_slot(op.results[0])
    host.env[op.results[0]] = host.new_tensor((dims.product(size.dims),), "uint8", slot)


@operation("relax.memory_kill_storage", "relax.memory_kill_tensor", "relax.vm_kill_object")
def write_kill(host: HostFunction, op: ir.Operation) -> None:
    """What is owned is released after its last use as it is."""
    host.env[op.results[0]] = NoneValue()


@operation("relax.builtin_alloc_tensor")
def write_alloc_tensor(host: HostFunction, op: ir.Operation) -> None:
    shape, dtype = _allocated(host, op)
    host.env[op.results[0]] = host.new_tensor(shape, dtype, host.owned_slot(op.results[0]))


def _allocated(host: HostFunction, op: ir.Operation) -> tuple[tuple[dims.Dim, ...], str]:
    """Shape and dtype of a tensor that is allocated; the shape is the last operand."""
    shape, info = host.env[op.operands[len(op.operands) - 1]], types.tensor_info(op.results[0].type)
    if not isinstance(shape, ShapeValue) or info is None or info.dtype is None:
        raise host.error(op, "the rank or dtype of the tensor is not known")
    return shape.dims, info.dtype


@operation("relax.memory_alloc_tensor", "relax.vm_alloc_tensor")
def write_tensor_in_storage(host: HostFunction, op: ir.Operation) -> None:
    """A place in the storage; a tensor that leaves the function owns its memory instead."""
    text, storage, offset = host.text, host.env[op.operands[0]], host.env[op.operands[1]]
    shape, dtype = _allocated(host, op)
    inside = isinstance(storage, TensorValue) and isinstance(offset, PrimValue)
    if not inside or host.liveness.escapes(op.results[0]):
        host.env[op.results[0]] = host.new_tensor(shape, dtype, host.owned_slot(op.results[0]))
        return
    assert isinstance(storage, TensorValue) and isinstance(offset, PrimValue)
    known = types.prim_info(op.operands[1].type)
    start = known[1] if known is not None else None
    size, room = types.size_in_bytes(shape, dtype), storage.dims[0]
    if start != 0 or not dims.equal(size, room):
        end = text.binary("addi", offset.value, host.values.value(size))
        fits = text.compare("sle", end, storage.sizes[0])
        from_start = text.compare("sge", offset.value, text.constant(0))
        where = f"{op.name.removeprefix('relax.')}: the tensor must end by byte"
        bad = size_error(host, where, storage.sizes[0], "", end)
        text.require(text.binary("andi", from_start, fits, "i1"), bad)
    data = text.offset(storage.data, offset.value)
    host.env[op.results[0]] = TensorValue(data, host.sizes(shape), dtype, shape)


@operation("relax.memory_ensure_zero_offset", "relax.to_vdevice", "relax.hint_on_device")
def write_same(host: HostFunction, op: ir.Operation) -> None:
    host.env[op.results[0]] = host.env[op.operands[0]]


def _effect(host: HostFunction, name: str, op: ir.Operation, values: list[Value]) -> None:
    call_global(host, name, [StringValue(attributes_of(op)["format"]), *values])
    host.env[op.results[0]] = NoneValue()


@operation("relax.print")
def write_print(host: HostFunction, op: ir.Operation) -> None:
    _effect(host, "relax_mlir.print", op, [host.env[value] for value in op.operands])


@operation("relax.assert_op")
def write_assert(host: HostFunction, op: ir.Operation) -> None:
    text, values = host.text, [host.env[value] for value in list(op.operands)[1:]]
    holds = condition_of(host, op)
    if not values:
        message = text.string(attributes_of(op)["format"] or "Assertion Failed")
        kind, bad = text.string("AssertionError"), text.block("assert")
        raised = call_text("TVMFFIErrorSetRaisedFromCStr", [kind, message], ["!llvm.ptr"] * 2)
        text.cold(bad, [raised, host.failed])
        text.require(holds, bad)
        host.env[op.results[0]] = NoneValue()
        return
    failing, going_on = text.block("failing"), text.block("holds")
    text.line(f"cf.cond_br {holds}, {going_on}, {failing}")
    text.label(failing)
    outer = host.branch()
    _effect(host, "relax_mlir.assert_op", op, values)
    host.rejoin(outer)
    text.line(f"cf.br {going_on}")
    text.label(going_on)
