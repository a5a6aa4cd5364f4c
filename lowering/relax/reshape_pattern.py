"""Which TensorIR functions only copy a buffer to one of another shape, in order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.lowering.relax.functions import walk
from relax_mlir.lowering.relax.index_maps import evaluate
from relax_mlir.mlir import ir

_LARGEST = 1 << 22
"""Elements that are looked at one by one."""


def is_reshape(function: ir.Operation) -> bool:
    """True when a TensorIR function only copies its first buffer to its second, in order.

    Decided for constant sizes, by comparing the two places of every element.
    """
    parameters = list(function.regions[0].blocks[0].arguments)
    blocks = [op for op in walk(function) if op.name == "tir.block"]
    inner = [op for op in blocks if not any(o.name == "tir.block" for o in walk(op))]
    if len(inner) != 1 or len(parameters) != 2:
        return False
    return _copies_in_order(inner[0], parameters)


def _copies_in_order(block: ir.Operation, parameters: list[ir.Value]) -> bool:
    stores = [op for op in walk(block) if op.name == "memref.store"]
    if len(stores) != 1:
        return False
    store = stores[0]
    value, target, *to = list(store.operands)
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "memref.load":
        return False
    source, *at = list(value.owner.operation.operands)
    if [source, target] != parameters:
        return False
    shapes = [ir.MemRefType(buffer.type) for buffer in (source, target)]
    if not all(shape.has_static_shape for shape in shapes):
        return False
    sizes = [list(shape.shape) for shape in shapes]
    domains = from_attribute(block.attributes["domains"])
    extents = list(itertools.islice(domains, 1, None, 2))
    starts = list(itertools.islice(domains, 0, None, 2))
    count = int(np.prod(sizes[0], dtype=np.int64))
    if count != int(np.prod(sizes[1], dtype=np.int64)) or not 0 < count <= _LARGEST:
        return False
    if int(np.prod(extents, dtype=np.int64)) != count:
        return False
    grid = np.meshgrid(*map(np.arange, extents), indexing="ij") if extents else []
    arguments = list(block.regions[0].blocks[0].arguments)
    known: dict[ir.Value, Any] = {
        arg: axis + start for arg, axis, start in zip(arguments, grid, starts, strict=True)
    }
    read, written = (
        _flat(indices, size, known) for indices, size in zip((at, to), sizes, strict=True)
    )
    return read is not None and written is not None and bool(np.array_equal(read, written))


def _flat(indices: list[ir.Value], sizes: list[int], known: dict[ir.Value, Any]) -> Any:
    """The position in memory for every iteration, or None when it cannot be told."""
    flat: Any = np.int64(0)
    for index, size in zip(indices, sizes, strict=True):
        value = _evaluate(index, known)
        if value is None:
            return None
        flat = flat * size + value
    return flat


def _evaluate(value: ir.Value, known: dict[ir.Value, Any]) -> Any:
    if value in known:
        return known[value]
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.operation
    if op.name == "arith.constant":
        return int(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name != "affine.apply":
        return None
    operands = [_evaluate(operand, known) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    chosen = ir.AffineMapAttr(op.attributes["map"]).value
    count = chosen.n_dims
    return evaluate(chosen.results[0], operands[:count], operands[count:])
