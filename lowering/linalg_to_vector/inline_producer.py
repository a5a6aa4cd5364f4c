"""Building the operation in which a reader computes what it read from a temporary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.lowering.linalg_to_vector.loop_nest import parse
from relax_mlir.mlir import ir

__all__ = ["inline_producer"]

_Operand = tuple[ir.Value, ir.AffineMap]


def inline_producer(
    producer: ir.Operation,
    reader: ir.Operation,
    *,
    quotients: bool = False,
    parts: Mapping[ir.Value, Sequence[int]] | None = None,
) -> ir.Operation | None:
    """A `linalg.generic` before `reader` that does its work with the producer's body inlined
    wherever the producer's output was read.  None if that is no strided loop nest, with `quotients`
    one whose indices may divide dimensions; nothing is erased.

    parts: views of the output that stand for it, and where they begin along each dimension."""
    temporary = list(producer.operands)[-1]
    values = list(reader.operands)
    inputs_count = reader.attributes["operandSegmentSizes"][0]
    starts = {temporary: [0] * ir.MemRefType(temporary.type).rank, **(parts or {})}
    read = [i for i in range(inputs_count) if values[i] in starts]
    maps = _maps(reader)
    for i in read:
        maps[i] = _moved(maps[i], starts[values[i]])
    rank = len(reader.attributes["iterator_types"])
    kept = [(values[i], maps[i]) for i in range(inputs_count) if i not in read]
    inlined = [_composed_inputs(producer, maps[i], rank) for i in read]
    inputs = _distinct([*kept, *(operand for group in inlined for operand in group)])
    outputs = list(zip(values[inputs_count:], maps[inputs_count:], strict=True))
    if not _covers_all_dims([map_ for _, map_ in (*inputs, *outputs)], rank):
        return None
    if parts and not _agree(inputs, outputs):
        return None
    read_maps = [maps[i] for i in read]
    with ir.InsertionPoint(reader), reader.location:
        fused = _create(reader, inputs, outputs)
        complete = _fill_body(fused, producer, reader, inputs, kept, inlined, read, read_maps)
    if not complete or parse(fused, quotients=quotients) is None:
        fused.erase()
        return None
    return fused


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [attribute.value for attribute in op.attributes["indexing_maps"]]


def _moved(map_: ir.AffineMap, starts: Sequence[int]) -> ir.AffineMap:
    """The map of indices that begin elsewhere."""
    results = [
        ir.AffineExpr.simplify_affine_expr(expr + start, map_.n_dims, 0) if start else expr
        for expr, start in zip(map_.results, starts, strict=True)
    ]
    return ir.AffineMap.get(map_.n_dims, 0, results)


def _agree(inputs: list[_Operand], outputs: list[_Operand]) -> bool:
    """Whether all buffers that a dimension alone indexes have one size along it: only a part of one
    may be read otherwise, which linalg cannot say."""
    sizes: dict[int, int] = {}
    for value, map_ in (*outputs, *inputs):
        if not isinstance(value.type, ir.MemRefType):
            continue
        for expr, size in zip(map_.results, ir.MemRefType(value.type).shape, strict=True):
            plain = isinstance(expr, ir.AffineDimExpr)
            if plain and sizes.setdefault(expr.position, size) != size:
                return False
    return True


def _producer_dims(producer: ir.Operation, read_map: ir.AffineMap) -> list[ir.AffineExpr]:
    """For every dimension of the producer, its position in terms of the reader's dimensions."""
    written = list(_maps(producer)[-1].results)
    expressions = {expr.position: read_map.results[index] for index, expr in enumerate(written)}
    return [expressions[dim] for dim in range(len(written))]


def _composed_inputs(producer: ir.Operation, read_map: ir.AffineMap, rank: int) -> list[_Operand]:
    """The producer's inputs as the reader, at its own dimensions, has to read them."""
    dims = ir.AffineMap.get(rank, 0, _producer_dims(producer, read_map))
    count = producer.attributes["operandSegmentSizes"][0]
    composed: list[_Operand] = []
    for value, map_ in list(zip(producer.operands, _maps(producer), strict=True))[:count]:
        results = [
            ir.AffineExpr.simplify_affine_expr(expr.compose(dims), rank, 0) for expr in map_.results
        ]
        composed.append((value, ir.AffineMap.get(rank, 0, results)))
    return composed


def _distinct(operands: list[_Operand]) -> list[_Operand]:
    found: list[_Operand] = []
    for operand in operands:
        if operand not in found:
            found.append(operand)
    return found


def _covers_all_dims(maps: list[ir.AffineMap], rank: int) -> bool:
    """Whether every dimension is an index of some operand, which linalg needs for its size."""
    plain = {
        expr.position
        for map_ in maps
        for expr in map_.results
        if isinstance(expr, ir.AffineDimExpr)
    }
    return len(plain) == rank


def _create(reader: ir.Operation, inputs: list[_Operand], outputs: list[_Operand]) -> ir.Operation:
    operands = [*inputs, *outputs]
    maps = [ir.AffineMapAttr.get(map_) for _, map_ in operands]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get(maps),
        "iterator_types": reader.attributes["iterator_types"],
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
    }
    fused = ir.Operation.create(
        "linalg.generic",
        results=[],
        operands=[value for value, _ in operands],
        attributes=attributes,
        regions=1,
    )
    types = [_element_type(value.type) for value, _ in operands]
    fused.regions[0].blocks.append(*types)
    return fused


def _element_type(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.MemRefType) else type_


def _fill_body(
    fused: ir.Operation,
    producer: ir.Operation,
    reader: ir.Operation,
    inputs: list[_Operand],
    kept: list[_Operand],
    inlined: list[list[_Operand]],
    read: list[int],
    read_maps: list[ir.AffineMap],
) -> bool:
    """Clone both bodies; False if an index of the producer is no plain dimension of the reader."""
    block = fused.regions[0].blocks[0]
    argument = {id_: block.arguments[i] for i, id_ in enumerate(map(_key, inputs))}
    reader_block = reader.regions[0].blocks[0]
    values: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(block):
        for index, map_, group in zip(read, read_maps, inlined, strict=True):
            dims = _producer_dims(producer, map_)
            body = producer.regions[0].blocks[0]
            given = [argument[_key(operand)] for operand in group]
            produced = _clone_body(body, given, dims)
            if produced is None:
                return False
            values[reader_block.arguments[index]] = produced[0]
        count = reader.attributes["operandSegmentSizes"][0]
        others = [i for i in range(count) if i not in read]
        for index, operand in zip(others, kept, strict=True):
            values[reader_block.arguments[index]] = argument[_key(operand)]
        arguments = list(reader_block.arguments)
        for offset, own in enumerate(arguments[count:]):
            values[own] = block.arguments[len(inputs) + offset]
        yielded = _clone_body(reader_block, [values[a] for a in arguments], None)
        assert yielded is not None
        ir.Operation.create("linalg.yield", results=[], operands=yielded)
    return True


def _key(operand: _Operand) -> tuple[ir.Value, str]:
    return operand[0], str(operand[1])


def _clone_body(
    block: ir.Block, arguments: list[ir.Value], dims: list[ir.AffineExpr] | None
) -> list[ir.Value] | None:
    """Clone a body at the insertion point on `arguments` (missing ones are unused); returns what
    it yields.  `dims` says what `linalg.index` of each dimension becomes, None for no change."""
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, arguments, strict=False))
    for view in block.operations:
        op = view.operation
        if op.name == "linalg.yield":
            return [_mapped(values, operand) for operand in op.operands]
        clone = op.clone()
        for position, operand in enumerate(op.operands):
            clone.operands[position] = _mapped(values, operand)
        if op.name == "linalg.index" and dims is not None:
            target = dims[ir.IntegerAttr(op.attributes["dim"]).value]
            if not isinstance(target, ir.AffineDimExpr):
                return None
            i64 = ir.IntegerType.get_signless(64)
            clone.attributes["dim"] = ir.IntegerAttr.get(i64, target.position)
        values.update(zip(op.results, clone.results, strict=True))
    raise AssertionError("a linalg body ends in linalg.yield")


def _mapped(values: dict[ir.Value, ir.Value], value: ir.Value) -> ir.Value:
    return values.get(value, value)
