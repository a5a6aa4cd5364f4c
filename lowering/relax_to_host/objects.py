"""Values in and out of the TVM FFI's `Any`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from relax_mlir.dialects import dims
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax_to_host.host_function import HostFunction
from relax_mlir.lowering.relax_to_host.values import (
    DataTypeValue,
    NoneValue,
    ObjectValue,
    PrimValue,
    ShapeValue,
    StringValue,
    TensorValue,
    TupleValue,
    Value,
    is_float,
)
from relax_mlir.lowering.relax_to_host.vm_builtins import VM_BUILTINS
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, KIND, OBJECT_HEADER, dtype_word
from relax_mlir.lowering.to_llvm.ffi_arguments import ScalarSpec, TensorSpec
from relax_mlir.mlir import ir

__all__ = ["as_tensor", "call_global", "from_any", "give_result", "view_array", "view_into"]

_ARRAY_KINDS = (71, 75)  # ffi.Array and ffi.List share their layout: {data, size, ...}


def view_into(host: HostFunction, value: Value, slot: str) -> None:
    """Write a borrowed view of `value` to the Any at `slot`."""
    text = host.text
    match value:
        case TensorValue(any_slot=str(source)) | ObjectValue(slot=source):
            for offset in (0, 8):
                word = text.load(text.offset(source, offset), "i64")
                text.store(word, text.offset(slot, offset), "i64")
        case PrimValue():
            _write(host, slot, _prim_kind(value.dtype), value.value, _payload_type(value.dtype))
        case StringValue():
            _write(host, slot, KIND["raw_str"], text.string(value.text), "!llvm.ptr")
        case DataTypeValue():
            word = text.constant(dtype_word(value.dtype))
            _write(host, slot, KIND["dtype"], word, "i64")
        case NoneValue():
            _write(host, slot, KIND["none"], text.constant(0), "i64")
        case ShapeValue() | TupleValue():
            view_into(host, ObjectValue(_make_object(host, value)), slot)
        case TensorValue():
            raise AssertionError("a tensor without an object escapes")


def view_array(host: HostFunction, values: Sequence[Value]) -> str:
    """The address of an array of borrowed Anys, one for each value."""
    args = host.text.stack(ANY, max(1, len(values)))
    for index, value in enumerate(values):
        view_into(host, value, host.text.field(args, ANY, index))
    return args


def _write(host: HostFunction, slot: str, kind: int, payload: str, payload_type: str) -> None:
    text = host.text
    text.store(text.constant(kind), slot, "i64")
    text.store(payload, text.field(slot, ANY, 0, 2), payload_type)


def _prim_kind(dtype: str) -> int:
    if is_float(dtype):
        return KIND["float"]
    return KIND["bool"] if dtype == "bool" else KIND["int"]


def _payload_type(dtype: str) -> str:
    return "f64" if is_float(dtype) else "i64"


def _make_object(host: HostFunction, value: ShapeValue | TupleValue) -> str:
    """An owned slot with a shape or array object."""
    if isinstance(value, ShapeValue):
        fields: list[Value] = [PrimValue("int64", host.values.value(dim)) for dim in value.dims]
        return call_global(host, "ffi.Shape", fields)
    return call_global(host, "ffi.Array", value.fields)


def call_global(
    host: HostFunction, name: str, arguments: list[Value], result: ir.Value | None = None
) -> str:
    """Call a registered function; returns the owned slot of its result."""
    text = host.text
    if name in VM_BUILTINS:
        name = f"relax_mlir.{name}"
    args = view_array(host, arguments)
    slot = host.owned_slot(result)
    status = text.call(
        "relax_ffi_call_global",
        [
            text.string(name),
            text.constant(len(name.encode())),
            args,
            text.constant(len(arguments), "i32"),
            slot,
        ],
        ["!llvm.ptr", "i64", "!llvm.ptr", "i32", "!llvm.ptr"],
        "i32",
    )
    host.check(status)
    return slot


def give_result(host: HostFunction, value: Value, target: str, kept: Collection[str] = ()) -> None:
    """Write an owned `value` to the Any at `target`; what this function owns is handed over, but
    what is in the slots `kept` is owned by both."""
    text = host.text
    if isinstance(value, (ShapeValue, TupleValue)):
        value = ObjectValue(_make_object(host, value))
    source = value.any_slot if isinstance(value, TensorValue) else getattr(value, "slot", None)
    if source is None:
        view = text.stack(ANY)
        view_into(host, value, view)
        source = view
    if host.owns(source) and source not in kept:
        view_into(host, ObjectValue(source), target)
        text.store(text.constant(0, "i32"), source, "i32")
        return
    status = text.call("relax_ffi_own", [source, target], ["!llvm.ptr", "!llvm.ptr"], "i32")
    host.check(status)


def from_any(host: HostFunction, slot: str, kind: ir.Type, where: str, name: str) -> Value:
    """Check that the Any at `slot` has a Relax type and read it."""
    tensor = types.tensor_info(kind)
    if tensor is not None:
        shape = tensor.dims
        if shape is None and tensor.ndim >= 0:
            shape = (None,) * tensor.ndim
        spec = TensorSpec(name, tensor.dtype, shape, strided=shape is None)
        value = host.reader.tensor(slot, spec, where)
        return ObjectValue(slot) if shape is None or tensor.dtype is None else value
    fields = types.tuple_fields(kind)
    if fields is not None:
        return _read_tuple(host, slot, fields, where, name)
    shape_info = types.shape_info(kind)
    if shape_info is not None:
        return _read_shape(host, slot, shape_info, where, name)
    prim = types.prim_info(kind)
    if prim is not None:
        return _read_prim(host, slot, prim, where, name)
    return ObjectValue(slot)


def _read_prim(
    host: HostFunction, slot: str, prim: tuple[str, dims.Dim | None], where: str, name: str
) -> PrimValue:
    dtype, known = prim
    wide = "float64" if is_float(dtype) else "int64"
    symbol = known if isinstance(known, str) else None
    value = host.reader.scalar(slot, ScalarSpec(name, wide, symbol), where)
    return PrimValue(dtype, value)


def _require_kind(host: HostFunction, slot: str, kinds: tuple[int, ...], block: str) -> str:
    """Check the kind of an object; returns the address of what it holds."""
    text = host.text
    kind = text.load(slot, "i32")
    fits = text.equals(kind, kinds[0], "i32")
    for other in kinds[1:]:
        fits = text.binary("ori", fits, text.equals(kind, other, "i32"), "i1")
    text.require(fits, host.reader.otherwise(block, "TypeError"))
    payload = text.load(text.field(slot, ANY, 0, 2), "!llvm.ptr")
    return text.offset(payload, OBJECT_HEADER)


def _read_tuple(
    host: HostFunction, slot: str, fields: list[ir.Type], where: str, name: str
) -> TupleValue:
    text = host.text
    block = host.reader.failure(where, f"a tuple of {len(fields)} fields", slot)
    cell = _require_kind(host, slot, _ARRAY_KINDS, block)
    size = text.load(text.offset(cell, 8), "i64")
    text.require(text.equals(size, len(fields)), host.reader.otherwise(block, "ValueError"))
    data = text.load(cell, "!llvm.ptr")
    prefix = where.removesuffix(": ")
    return TupleValue([
        from_any(host, text.offset(data, 16 * i), kind, f"{prefix}[{i}]: ", f"{name}_{i}")
        for i, kind in enumerate(fields)
    ])  # fmt: skip


def _read_shape(
    host: HostFunction, slot: str, info: types.ShapeInfo, where: str, name: str
) -> Value:
    text = host.text
    known = info.dims if info.dims is not None else (None,) * max(0, info.ndim)
    inner = ", ".join("_" if dim is None else str(dim) for dim in known)
    expected = "a shape" if info.ndim < 0 else f"a shape ({inner})"
    block = host.reader.failure(where, expected, slot)
    cell = _require_kind(host, slot, (KIND["shape"],), block)
    if info.ndim < 0:
        return ObjectValue(slot)
    rank = text.load(text.offset(cell, 8), "i64")
    text.require(text.equals(rank, info.ndim), host.reader.otherwise(block, "ValueError"))
    data = text.load(cell, "!llvm.ptr")
    sizes = [text.load(text.offset(data, 8 * axis), "i64") for axis in range(len(known))]
    return ShapeValue(tuple(
        host.reader.match(dim, size, block, f"{name}_{axis}")
        for axis, (dim, size) in enumerate(zip(known, sizes, strict=True))
    ))  # fmt: skip


def as_tensor(
    host: HostFunction, value: Value, kind: ir.Type, where: str, rank: int
) -> TensorValue:
    """A tensor value, read at run time when only its being an object was known so far."""
    if isinstance(value, TensorValue):
        return value
    info = types.tensor_info(kind)
    if not isinstance(value, ObjectValue) or info is None:
        raise AssertionError(f"{where}expected a tensor")
    shape = info.dims if info.dims is not None else (None,) * rank
    return host.reader.tensor(value.slot, TensorSpec("value", info.dtype, shape), where)
