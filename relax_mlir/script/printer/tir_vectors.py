"""Reads vectors back as expressions: ramps, broadcasts, shuffles and accesses of several lanes."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.mlir import dynamic, ir
from relax_mlir.script.printer.tir_expr import READERS, ExprReader, add_integers, raw
from relax_mlir.tir import expr as E
from relax_mlir.tir.lanes import Scalable, lanes_of_type
from relax_mlir.tir.linear import difference


def _vector_load(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    buffer = reader.buffer(op.operands[0])
    lanes = lanes_of_type(op.results[0].type)
    *outer, start = [reader.read(v, buffer.index_dtype) for v in list(op.operands)[1:]]
    ramp = E.Ramp(start, E.IntImm(start.dtype, 1), lanes)
    return raw(E.BufferLoad, f"{buffer.dtype}x{lanes}", buffer=buffer, indices=(*outer, ramp))


def masked_place(
    reader: ExprReader,
    memory: ir.Value,
    places: list[ir.Value],
    lanes: int,
    steps: ir.Value | None = None,
) -> Any:
    """The vector access of a masked load or store; `steps` are the lanes' distances from the
    first one, if not one each."""
    buffer = reader.buffer(memory)
    *outer, start = [reader.read(v, buffer.index_dtype) for v in places]
    stride = 1
    scaled = None if steps is None else _scaled_step(steps)
    if steps is not None and scaled is not None:
        stride = _known(reader.read(scaled))
    elif steps is not None:
        distances = list(ir.DenseIntElementsAttr(_constant_of(steps)))
        stride = distances[1] if len(distances) > 1 else 1
        if distances != [lane * stride for lane in range(lanes)]:
            raise Error(f"lanes at {distances} have no TVMScript spelling")
    ramp = E.Ramp(start, E.IntImm(start.dtype, stride), lanes)
    return raw(E.BufferLoad, f"{buffer.dtype}x{lanes}", buffer=buffer, indices=(*outer, ramp))


def _masked_load(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    memory, *places, mask, other = list(op.operands)
    stored = _constant_of(other)
    if (
        not isinstance(stored, ir.DenseElementsAttr)
        or not stored.is_splat
        or (getattr(stored.get_splat_value(), "value", None) != 0)
    ):
        raise Error(f"a masked load whose other lanes are not zero has no TVMScript spelling: {op}")
    steps = places.pop() if op.name == "vector.gather" else None
    lanes = lanes_of_type(op.results[0].type)
    load = masked_place(reader, memory, places, lanes, steps)
    predicate = reader.read(mask)
    if steps is not None and isinstance(lanes, Scalable) and everywhere(predicate):
        return load
    return raw(E.Call, load.dtype, op="masked_load", args=(load, predicate))


def everywhere(predicate: E.PrimExpr) -> bool:
    """Whether a mask holds in all lanes."""
    lane = predicate.value if isinstance(predicate, E.Broadcast) else predicate
    return isinstance(lane, E.IntImm) and lane.value != 0


def _known(stride: E.PrimExpr) -> int:
    if not isinstance(stride, E.IntImm):
        raise Error(f"lanes at a distance of {stride} have no TVMScript spelling")
    return stride.value


def _constant_of(value: ir.Value) -> ir.Attribute | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return owner.attributes["value"]


def _broadcast(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    lanes = lanes_of_type(op.results[0].type)
    return E.Broadcast(reader.read(op.operands[0], E.scalar_dtype(hint) if hint else None), lanes)


def _from_elements(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """Lanes that are `base + i * stride`, or loads from such places: a ramp."""
    lanes = [reader.read(v, E.scalar_dtype(hint) if hint else None) for v in op.operands]
    first = lanes[0]
    if all(isinstance(lane, E.BufferLoad) for lane in lanes):
        loads = [lane for lane in lanes if isinstance(lane, E.BufferLoad)]
        ramp = _ramp([load.indices[-1] for load in loads])
        outer = {tuple(map(E.structural_key, load.indices[:-1])) for load in loads}
        buffer = loads[0].buffer
        if ramp is not None and len(outer) == 1 and all(x.buffer is buffer for x in loads):
            dtype = f"{buffer.dtype}x{len(lanes)}"
            indices = (*loads[0].indices[:-1], ramp)
            return raw(E.BufferLoad, dtype, buffer=buffer, indices=indices)
    ramp = _ramp(lanes) if dtypes.is_integer(first.dtype) else None
    if ramp is not None:
        return ramp
    return _chosen(reader, op, first.dtype)


def _chosen(reader: ExprReader, op: ir.Operation, scalar: str) -> E.PrimExpr:
    """A vector of lanes of others and of scalars, which are made in the order of the program."""
    places = [_place(value) for value in op.operands]
    sources = list(dict.fromkeys(source for source, _ in places))
    if all(isinstance(s.owner, ir.Operation | ir.OpView) for s in sources):
        sources.sort(key=functools.cmp_to_key(_order))
    lanes = [lanes_of_type(s.type) if isinstance(s.type, ir.VectorType) else 1 for s in sources]
    starts = dict(zip(sources, itertools.accumulate([0, *lanes]), strict=False))
    indices = tuple(E.IntImm("int32", starts[source] + place) for source, place in places)
    hints = [None if count > 1 else scalar for count in lanes]
    vectors = tuple(reader.read(s, hint) for s, hint in zip(sources, hints, strict=True))
    return raw(E.Shuffle, f"{scalar}x{len(places)}", vectors=vectors, indices=indices)


def _place(value: ir.Value) -> tuple[ir.Value, int]:
    """The vector and the lane that an element is, or the scalar itself."""
    lane = _maker(value, "vector.extract")
    if lane is None or len(lane.operands) > 1:
        return value, 0
    return lane.operands[0], next(iter(ir.DenseI64ArrayAttr(lane.attributes["static_position"])))


def _order(a: ir.Value, b: ir.Value) -> int:
    first, second = a.owner, b.owner
    if first == second or isinstance(first, ir.Block) or isinstance(second, ir.Block):
        return 0
    if first.operation.block != second.operation.block:
        return 0
    return -1 if first.operation.is_before_in_block(second.operation) else 1


def _ramp(lanes: list[E.PrimExpr]) -> E.Ramp | None:
    steps = [difference(lane, lanes[0]) for lane in lanes]
    stride = steps[1] if len(steps) > 1 else 1
    if stride is None or steps != [i * stride for i in range(len(lanes))]:
        return None
    return E.Ramp(lanes[0], E.IntImm(lanes[0].dtype, stride), len(lanes))


def _maker(value: ir.Value, name: str) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) or owner.name != name else owner.operation


def _scaled_step(value: ir.Value) -> ir.Value | None:
    """The stride of `0, stride, 2 * stride, ...` in scalable lanes."""
    product = _maker(value, "arith.muli")
    if product is None:
        return None
    steps = _maker(product.operands[0], "arith.index_cast")
    stride = _maker(product.operands[1], "vector.broadcast")
    if steps is None or stride is None or _maker(steps.operands[0], "vector.step") is None:
        return None
    return stride.operands[0]


def _add(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """A sum, which is a ramp where scalable lanes are added to a base."""
    stride = _scaled_step(op.operands[1])
    base = _maker(op.operands[0], "vector.broadcast")
    if stride is None or base is None:
        return add_integers(reader, op, hint)
    scalar = E.scalar_dtype(hint) if hint else None
    start, distance = reader.alike([base.operands[0], stride], scalar)
    return E.Ramp(start, distance, lanes_of_type(op.results[0].type))


def _step(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """`0, 1, 2, ...`"""
    return E.Ramp(0, 1, lanes_of_type(op.results[0].type))


def _shuffle(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """Lanes of one or two vectors."""
    scalar = E.scalar_dtype(hint) if hint else None
    places = list(ir.DenseI64ArrayAttr(op.attributes["mask"]))
    first, second = op.operands
    vectors = [reader.read(first)]
    if first != second or max(places) >= lanes_of_type(first.type):
        vectors.append(reader.read(second))
    dtype = scalar or E.scalar_dtype(vectors[0].dtype)
    indices = tuple(E.IntImm("int32", p) for p in places)
    return raw(E.Shuffle, f"{dtype}x{len(places)}", vectors=tuple(vectors), indices=indices)


def _extract(reader: ExprReader, op: ir.Operation, hint: str | None) -> E.PrimExpr:
    """A lane of a vector; of a vector that a scalar's bits were put into, the scalar."""
    bits = _maker(op.operands[0], "vector.bitcast")
    if bits is not None and lanes_of_type(bits.results[0].type) == 1:
        return reader.read(op.operands[0], hint)
    source = reader.read(op.operands[0])
    place = next(iter(ir.DenseI64ArrayAttr(op.attributes["static_position"])))
    lane = E.IntImm("int32", place) if place != dynamic() else reader.read(op.operands[1], "int32")
    return raw(E.Shuffle, E.scalar_dtype(source.dtype), vectors=(source,), indices=(lane,))


READERS.update(
    {
        "arith.addi": _add,
        "vector.load": _vector_load,
        "vector.maskedload": _masked_load,
        "vector.gather": _masked_load,
        "vector.broadcast": _broadcast,
        "vector.from_elements": _from_elements,
        "vector.shuffle": _shuffle,
        "vector.step": _step,
        "vector.extract": _extract,
    }
)

__all__ = ["everywhere", "masked_place"]
