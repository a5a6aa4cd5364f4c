"""Prints the operations of lowered programs: storage, addresses, views, attributes of scopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.ir.text import name_of
from relax_mlir.mlir import ir
from relax_mlir.script.printer.core import literal
from relax_mlir.script.printer.tir_expr import READERS, ExprReader, raw, region_end
from relax_mlir.script.printer.tir_vectors import everywhere, masked_place
from relax_mlir.tir import expr as E
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr_text import expr_text
from relax_mlir.tir.lanes import Scalable, lanes_of_type

if TYPE_CHECKING:
    from relax_mlir.script.printer.tir import PrimFuncPrinter


# -- statements -----------------------------------------------------------------------------------


def decl_buffer(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`B = T.decl_buffer(shape, dtype, data=address)`"""
    address = expr_text(printer.reader.read(op.operands[0]))
    buffer = printer.declare(op, list(op.operands)[1:])
    options = printer.buffer_options(buffer)
    dtype = [] if buffer.dtype == "float32" else [f'"{buffer.dtype}"']
    text = ", ".join([printer.shape(buffer.shape), *dtype, f"data={address}", *options])
    printer.printer.line(f"{buffer.name} = {printer.T}.decl_buffer({text})")


def alloc_const(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`C = T.allocate_const(values, dtype, shape)`"""
    buffer = printer.declare(op, [])
    values = _elements(ir.DenseElementsAttr(op.attributes["value"]), buffer.dtype)
    shape = ", ".join(expr_text(s) for s in buffer.shape)
    text = f'{literal(values)}, "{buffer.dtype}", [{shape}]'
    printer.printer.line(f"{buffer.name} = {printer.T}.allocate_const({text})")


def _elements(attribute: ir.DenseElementsAttr, dtype: str) -> list[Any]:
    shaped = ir.ShapedType(attribute.type)
    count = int(np.prod(shaped.shape))
    if attribute.is_splat:
        values = [from_attribute(attribute.get_splat_value())] * count
    elif dtypes.is_float(dtype):
        values = list(ir.DenseFPElementsAttr(attribute))
    else:
        values = list(ir.DenseIntElementsAttr(attribute))
    if dtypes.is_float(dtype):
        return [float(v) for v in values]
    if dtypes.is_unsigned(dtype):
        return [int(v) % (1 << dtypes.bits(dtype)) for v in values]
    return [int(v) for v in values]


def view(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`v = T.match_buffer(A[i : i + 4, 0:8], (4, 8), strides=..., elem_offset=...)`"""
    value = op.results[0]
    source = printer.reader.buffer(op.operands[0])
    region, extents = _region(printer, op, source)
    name = printer.names.define(value, name_of(value) or "view")
    shape = extents[len(extents) - ir.MemRefType(value.type).rank :]
    buffer = Buffer(name, shape, source.dtype, source.storage_scope)
    uses_layout = any(
        use.owner.operation.name == "memref.extract_strided_metadata" for use in value.uses
    )
    if uses_layout:
        _declare_layout(printer, buffer, source.index_dtype)
    printer.reader.buffers[value] = buffer
    dtype = [] if buffer.dtype == "float32" else [f'"{buffer.dtype}"']
    arguments = [region, printer.shape(shape), *dtype, *printer.buffer_options(buffer)]
    printer.printer.line(f"{name} = {printer.T}.match_buffer({', '.join(arguments)})")


def _declare_layout(printer: PrimFuncPrinter, buffer: Buffer, dtype: str) -> None:
    hints = [f"{buffer.name}_s{i}" for i in range(buffer.ndim)]
    symbols = [E.Var("", dtype) for _ in range(buffer.ndim + 1)]
    for symbol, hint in zip(symbols, [*hints, f"{buffer.name}_offset"], strict=True):
        symbol.name = printer.names.define(symbol, hint)
    names = ", ".join(s.name for s in symbols)
    values = ", ".join(f"{printer.T}.{dtype}()" for _ in symbols)
    printer.printer.line(f"{names} = {values}")
    buffer.strides = tuple(symbols[:-1])
    buffer.elem_offset = symbols[-1]


def _region(
    printer: PrimFuncPrinter, op: ir.Operation, source: Buffer
) -> tuple[str, list[E.PrimExpr]]:
    """The text of a subview's region, and its sizes."""
    operands = iter(list(op.operands)[1:])
    groups: list[list[E.PrimExpr]] = []
    for key in ("static_offsets", "static_sizes"):
        entries = ir.DenseI64ArrayAttr(op.attributes[key])
        values = [next(operands) if s == mlir.dynamic() else s for s in entries]
        groups.append([printer.reader.index(v, source.index_dtype) for v in values])
    parts: list[str] = []
    for begin, extent in zip(*groups, strict=True):
        end = region_end(begin, extent, begin.dtype)
        parts.append(f"{expr_text(begin)}:{expr_text(end)}")
    return f"{source.name}[{', '.join(parts)}]", groups[1]


def attr(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`with T.attr(node, key, value):`"""
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    operands = list(op.operands)
    texts: list[str] = []
    for name, group in (("node", operands[: segments[0]]), ("value", operands[segments[0] :])):
        if group:
            texts.append(expr_text(printer.reader.read(group[0])))
        else:
            texts.append(literal(from_attribute(op.attributes[name])))
    key = literal(ir.StringAttr(op.attributes["key"]).value)
    printer.printer.line(f"with {printer.T}.attr({texts[0]}, {key}, {texts[1]}):")
    printer.region(op.regions[0])


def masked_store(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`A.vstore([T.Ramp(i, 1, 4)], value, predicate=mask)`; with all lanes, an assignment."""
    memory, *places, mask, value = list(op.operands)
    steps = places.pop() if op.name == "vector.scatter" else None
    lanes = lanes_of_type(value.type)
    place = masked_place(printer.reader, memory, places, lanes, steps)
    stored = expr_text(printer.reader.read(value, place.dtype))
    predicate = printer.reader.read(mask)
    if op.name == "vector.scatter" and everywhere(predicate):
        printer.printer.line(f"{expr_text(place)} = {stored}")
        return
    indices = ", ".join(expr_text(i) for i in place.indices)
    line = f"{place.buffer.name}.vstore([{indices}], {stored}, predicate={expr_text(predicate)})"
    printer.printer.line(line)


# -- expressions ----------------------------------------------------------------------------------


def _buffer_data(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    return E.BufferRef(reader.buffer(op.operands[0]))


def _address(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    buffer = reader.buffer(op.operands[0])
    indices = [reader.read(v, buffer.index_dtype) for v in list(op.operands)[1:]]
    if "lanes" in op.attributes:
        lanes = from_attribute(op.attributes["lanes"])
        lanes = Scalable(lanes) if "scalable" in op.attributes else lanes
        indices[-1] = E.Ramp(indices[-1], E.IntImm(indices[-1].dtype, 1), lanes)
    place = raw(E.BufferLoad, buffer.dtype, buffer=buffer, indices=tuple(indices))
    return raw(E.Call, "handle", op="address_of", args=(place,))


def _reinterpret(dtype: str | None = None) -> Any:
    def read(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
        value = reader.read(op.operands[0], "uint64" if dtype == "handle" else None)
        target = dtype or (hint if hint and hint.endswith("64") else "int64")
        return raw(E.Call, target, op="reinterpret", args=(value,))

    return read


def _bits(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """`vector.bitcast` of a vector, or of the one lane that a scalar was put into."""
    from relax_mlir.script.printer.tir_expr import natural_dtype

    source, target = op.operands[0], ir.VectorType(op.results[0].type)
    maker = source.owner
    alone = not isinstance(maker, ir.Block) and maker.name == "vector.from_elements"
    if alone and len(maker.operands) == 1:
        source = maker.operands[0]
    value = reader.read(source)
    natural = natural_dtype(target).removesuffix("x1")
    return raw(E.Call, natural, op="reinterpret", args=(value,))


def _reducer(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """`T.comm_reducer(lambda x, y: x + y, [identity])` as a name: it is only ever a node."""
    block = op.regions[0].blocks[0]
    names = [name_of(a) or f"x{i}" for i, a in enumerate(block.arguments)]
    identities = [reader.read(v) for v in op.operands]
    dtypes_ = [i.dtype for i in (*identities, *identities)]
    for argument, name, dtype in zip(block.arguments, names, dtypes_, strict=True):
        reader.variables[argument] = E.Var(name, dtype)
    last = list(block.operations)[-1].operation
    results = [expr_text(reader.read(v)) for v in last.operands]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    given = ", ".join(expr_text(i) for i in identities)
    return E.Var(f"T.comm_reducer(lambda {', '.join(names)}: {result}, [{given}])", "handle")


READERS.update(
    {
        "tir.buffer_data": _buffer_data,
        "tir.address_of": _address,
        "llvm.inttoptr": _reinterpret("handle"),
        "llvm.ptrtoint": _reinterpret(),
        "vector.bitcast": _bits,
        "tir.comm_reducer": _reducer,
    }
)
