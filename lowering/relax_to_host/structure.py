"""Everything of a Relax function that is no call: bindings, constants, tuples, shapes, branches."""

from __future__ import annotations

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import constant_key, read_constant
from relax_mlir.lowering.relax_to_host.host_function import CONSTANTS, HostFunction, operation
from relax_mlir.lowering.relax_to_host.liveness import says_more
from relax_mlir.lowering.relax_to_host.objects import as_tensor, from_any, give_result
from relax_mlir.lowering.relax_to_host.shapes import match_shape
from relax_mlir.lowering.relax_to_host.values import (
    DataTypeValue,
    ObjectValue,
    PrimValue,
    ShapeValue,
    StringValue,
    TensorValue,
    TupleValue,
    Value,
    is_float,
)
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, KIND, OBJECT_HEADER
from relax_mlir.mlir import ir

__all__ = ["condition_of"]


@operation("func.return")
def write_return(host: HostFunction, op: ir.Operation) -> None:
    give_result(host, host.env[op.operands[0]], "%result")
    host.text.line(f"cf.br ^exit({host.text.constant(0, 'i32')} : i32)")


@operation("relax.dataflow")
def write_dataflow(host: HostFunction, op: ir.Operation) -> None:
    block = op.regions[0].blocks[0]
    operations = list(block.operations)
    host.write_block(operations[:-1])
    for value, result in zip(operations[-1].operation.operands, op.results, strict=True):
        host.env[result] = host.env[value]


@operation("relax.bind")
def write_bind(host: HostFunction, op: ir.Operation) -> None:
    """A name; where its type says more than that of the value, this is checked."""
    if says_more(op.results[0].type, op.operands[0].type):
        write_match_cast(host, op)
        return
    host.env[op.results[0]] = host.env[op.operands[0]]


@operation("relax.match_cast")
def write_match_cast(host: HostFunction, op: ir.Operation) -> None:
    value, result = host.env[op.operands[0]], op.results[0]
    shape = types.shape_info(result.type)
    wanted = None if shape is None else shape.dims
    if isinstance(value, ShapeValue) and wanted is not None and match_shape(host, value, wanted):
        host.env[result] = ShapeValue(wanted)
        return
    where = f"{host.name}: {op.name.removeprefix('relax.')}: "
    slot = _slot_of(host, value)
    host.env[result] = from_any(host, slot, result.type, where, "value")
    host.reader.finish()


def _slot_of(host: HostFunction, value: Value) -> str:
    if isinstance(value, TensorValue) and value.any_slot is not None:
        return value.any_slot
    if isinstance(value, ObjectValue):
        return value.slot
    slot = host.owned_slot()
    give_result(host, value, slot)
    return slot


@operation("relax.constant")
def write_constant(host: HostFunction, op: ir.Operation) -> None:
    text, info = host.text, types.tensor_info(op.results[0].type)
    assert info is not None and info.dims is not None and info.dtype is not None
    index = host.context.constant_index(_constant_key(host, op))
    table = text.address(CONSTANTS)
    tensor = text.load(text.offset(table, 8 * index), "!llvm.ptr")
    data = text.load(text.offset(tensor, OBJECT_HEADER), "!llvm.ptr")
    slot = None
    if host.liveness.escapes(op.results[0]):
        slot = text.stack(ANY)
        text.store(text.constant(KIND["tensor"]), slot, "i64")
        text.store(tensor, text.field(slot, ANY, 0, 2), "!llvm.ptr")
    sizes = host.sizes(info.dims)
    host.env[op.results[0]] = TensorValue(data, sizes, info.dtype, info.dims, None, slot)


def _constant_key(host: HostFunction, op: ir.Operation) -> str:
    """The key of a constant in the module's table; inline values are entered there."""
    constants = host.context.constants
    array = read_constant(op, constants)
    if array is None:
        raise host.error(op, f"the module's table of constants has no {op.attributes['key']}")
    key = ir.StringAttr(op.attributes["key"]).value if "key" in op.attributes else None
    if key is None:
        key = constant_key(array)
        constants.setdefault(key, array)
    return key


@operation("relax.tuple")
def write_tuple(host: HostFunction, op: ir.Operation) -> None:
    host.env[op.results[0]] = TupleValue([host.env[value] for value in op.operands])


@operation("relax.tuple_get_item")
def write_tuple_get_item(host: HostFunction, op: ir.Operation) -> None:
    value, index = host.env[op.operands[0]], ir.IntegerAttr(op.attributes["index"]).value
    if not isinstance(value, TupleValue):
        raise host.error(op, "the tuple's fields are not known; give it a tuple type")
    host.env[op.results[0]] = value.fields[index]


@operation("relax.shape_expr")
def write_shape(host: HostFunction, op: ir.Operation) -> None:
    info = types.shape_info(op.results[0].type)
    assert info is not None and info.dims is not None
    host.env[op.results[0]] = ShapeValue(info.dims)


@operation("relax.shape_of")
def write_shape_of(host: HostFunction, op: ir.Operation) -> None:
    value = host.env[op.operands[0]]
    if not isinstance(value, TensorValue):
        raise host.error(op, "the rank of the tensor is not known; use match_cast first")
    host.env[op.results[0]] = ShapeValue(value.dims)


@operation("relax.tensor_to_shape")
def write_tensor_to_shape(host: HostFunction, op: ir.Operation) -> None:
    text, operand = host.text, op.operands[0]
    where = f"{host.name}: tensor_to_shape: "
    value = as_tensor(host, host.env[operand], operand.type, where, 1)
    info = types.shape_info(op.results[0].type)
    rank = info.ndim if info is not None and info.ndim >= 0 else value.dims[0]
    if not isinstance(rank, int):
        raise host.error(op, "the number of sizes is not known; use match_cast first")
    symbols: list[str] = []
    data = host.read_memory(value.data, 8 * rank)
    for axis in range(rank):
        symbols.append(host.values.fresh(f"size_{axis}"))
        host.values.bind(symbols[-1], text.load(text.offset(data, 8 * axis), "i64"))
    host.env[op.results[0]] = ShapeValue(tuple(symbols))


@operation("relax.prim_value")
def write_prim(host: HostFunction, op: ir.Operation) -> None:
    info = types.prim_info(op.results[0].type)
    assert info is not None
    dtype, known = info
    if known is not None:
        host.env[op.results[0]] = PrimValue(dtype, host.values.value(known))
        return
    attribute = op.attributes["value"]
    if is_float(dtype):
        number = np.float64(ir.FloatAttr(attribute).value).view(np.int64)
        bits = host.text.constant(int(number))
        value = host.text.value(f"arith.bitcast {bits} : i64 to f64")
    else:
        value = host.text.constant(int(ir.IntegerAttr(attribute).value))
    host.env[op.results[0]] = PrimValue(dtype, value)


@operation("relax.string")
def write_string(host: HostFunction, op: ir.Operation) -> None:
    host.env[op.results[0]] = StringValue(ir.StringAttr(op.attributes["value"]).value)


@operation("relax.data_type")
def write_data_type(host: HostFunction, op: ir.Operation) -> None:
    kind = ir.TypeAttr(op.attributes["value"]).value
    host.env[op.results[0]] = DataTypeValue(dtypes.from_mlir(kind))


@operation("relax.if")
def write_if(host: HostFunction, op: ir.Operation) -> None:
    text, result = host.text, op.results[0]
    outside = host.owned_slots()
    slot = host.owned_slot(result)
    labels = [text.block("then"), text.block("else"), text.block("join")]
    text.line(f"cf.cond_br {condition_of(host, op)}, {labels[0]}, {labels[1]}")
    for label, region in zip(labels, op.regions, strict=False):
        text.label(label)
        outer = host.branch()
        operations = list(region.blocks[0].operations)
        host.write_block(operations[:-1])
        # What was made before the branch may be used behind it.
        give_result(host, host.env[operations[-1].operation.operands[0]], slot, outside)
        host.rejoin(outer)
        text.line(f"cf.br {labels[2]}")
    text.label(labels[2])
    where = f"{host.name}: result of if: "
    host.env[result] = from_any(host, slot, result.type, where, "result")
    host.reader.finish()


def condition_of(host: HostFunction, op: ir.Operation) -> str:
    """The first operand, a scalar bool, as an i1."""
    text, value = host.text, host.env[op.operands[0]]
    if isinstance(value, ObjectValue):
        kind = types.tensor_type((), "bool")
        value = from_any(host, value.slot, kind, f"{host.name}: condition of if: ", "condition")
    if isinstance(value, TensorValue):
        byte = text.load(host.read_memory(value.data, 1), "i8")
        return text.compare("ne", byte, text.constant(0, "i8"), "i8")
    if not isinstance(value, PrimValue):
        raise host.error(op, "the condition must be a scalar bool")
    return text.compare("ne", value.value, text.constant(0))
