"""How TensorIR functions go over the rows of images [images, rows, columns, channels, ...]."""

from __future__ import annotations

from enum import Enum

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.lowering.relax.functions import entry_block, walk
from relax_mlir.lowering.relax.op_pattern import (
    Access,
    load_access,
    only_store,
    value_operations,
    variables_of,
)
from relax_mlir.mlir import ir

__all__ = ["RowMovement", "row_movement"]

_ROWS = 1
"""The axis that counts rows."""


class RowMovement(Enum):
    """What a row of a function's results is of.

    PARALLEL: the same row of what it reads, or what does not depend on rows.
    SLIDING: the rows of a window that moves over one parameter; every channel is of this channel
    alone, as in a depthwise convolution or pooling.
    STEPPING: the same where windows follow each other, and none has rows of another or of a border.
    """

    PARALLEL = 0
    SLIDING = 1
    STEPPING = 2


def row_movement(kernel: ir.Operation) -> RowMovement | None:
    """How a function goes over rows; None where it does neither, or sizes are not all known."""
    blocks = [op for op in walk(kernel) if op.name == "tir.block"]
    parameters = entry_block(kernel).arguments
    types = [ir.MemRefType(p.type) for p in parameters if isinstance(p.type, ir.MemRefType)]
    if not blocks or len(types) != len(parameters):
        return None
    if any(not type_.has_static_shape for type_ in types):
        return None
    slides, steps, moves = 0, 0, 0
    for block in blocks:
        accesses = _accesses(block)
        if accesses is None:
            return None
        store, loads = accesses
        for load in loads:
            axes = [axis for axis, index in enumerate(load.indices) if _is_of_row(index, store)]
            if not axes or (axes == [_ROWS] and load.indices[_ROWS] == store.indices[_ROWS]):
                continue
            if axes != [_ROWS]:
                return None
            if _reduced(block) & variables_of(load.indices[_ROWS]):
                slides += 1
                steps += _steps(block, store, load)
                if not variables_of(store.indices[-1]) <= variables_of(load.indices[-1]):
                    return None
            else:
                moves += 1
    if slides == 1 and moves <= 1:
        return RowMovement.STEPPING if steps and not moves else RowMovement.SLIDING
    return RowMovement.PARALLEL if slides == moves == 0 else None


def _accesses(block: ir.Operation) -> tuple[Access, list[Access]] | None:
    """What a block stores and loads, if it stores one element whose row is a variable."""
    body = block.regions[0].blocks[0]
    store = only_store(body)
    if store is None or len(store.indices) <= _ROWS + 1:
        return None
    if not isinstance(store.indices[_ROWS], ir.BlockArgument):
        return None
    loads = [load_access(op) for op in value_operations(body) if op.name == "memref.load"]
    return store, loads


def _steps(block: ir.Operation, store: Access, load: Access) -> bool:
    """Whether a window is as long as its step from row to row: there are as many as find room."""
    taps = _reduced(block) & variables_of(load.indices[_ROWS])
    opview = block.opview
    assert isinstance(opview, BlockOp)
    extents = [
        extent
        for argument, (_, extent) in zip(
            block.regions[0].blocks[0].arguments, opview.domain_pairs, strict=True
        )
        if variables_of(argument) <= taps
    ]
    if len(extents) != 1 or not isinstance(extents[0], int):
        return False
    rows, results = (ir.MemRefType(a.buffer.type).shape[_ROWS] for a in (load, store))
    return rows // extents[0] == results


def _is_of_row(index: ir.Value, store: Access) -> bool:
    return variables_of(store.indices[_ROWS]) <= variables_of(index)


def _reduced(block: ir.Operation) -> frozenset[object]:
    """The variables that a block reduces over."""
    kinds = [ir.StringAttr(kind).value for kind in ir.ArrayAttr(block.attributes["iter_kinds"])]
    arguments = block.regions[0].blocks[0].arguments
    found: frozenset[object] = frozenset()
    return found.union(
        *(variables_of(v) for v, kind in zip(arguments, kinds, strict=True) if kind == "R")
    )
