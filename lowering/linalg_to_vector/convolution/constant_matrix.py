"""Small matrices that a program makes of constants, read as numbers."""

from __future__ import annotations

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.mlir import ir

__all__ = ["constant_matrix"]

_LARGEST = 256
_Number = float | int | bool
_KNOWN: dict[str, np.ndarray | None] = {}
"""The numbers of operations that were read before, by their text."""


def constant_matrix(
    buffer: ir.Value, uses: BufferUses, reader: ir.Operation
) -> tuple[np.ndarray, ir.Operation] | None:
    """The numbers of a temporary and the `linalg.generic` that writes them; None if they are not
    those of an operation without inputs that chooses between constants by its indices, and that
    alone writes the temporary."""
    type_ = ir.MemRefType(buffer.type)
    if not uses.is_temporary(buffer) or not type_.has_static_shape or type_.rank != 2:
        return None
    writers = [
        user
        for user in uses.remaining_users(buffer, reader)
        if user.name != "linalg.generic" or buffer in outputs_of(user)
    ]
    if len(writers) != 1 or writers[0].name != "linalg.generic":
        return None
    op = writers[0]
    shape = tuple(type_.shape)
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    plain = len(op.operands) == 1 and maps == [ir.AffineMap.get_identity(2)]
    if not plain or shape[0] * shape[1] > _LARGEST or op.block != reader.block:
        return None
    if not op.is_before_in_block(reader):
        return None
    # Programs have the same few matrices many times.
    text = op.get_asm(use_local_scope=True, assume_verified=True)
    if text not in _KNOWN:
        _KNOWN[text] = _values(op, shape)
    values = _KNOWN[text]
    return None if values is None else (values, op)


def _values(op: ir.Operation, shape: tuple[int, ...]) -> np.ndarray | None:
    values = np.zeros(shape)
    body = [view.operation for view in op.regions[0].blocks[0].operations]
    for index in np.ndindex(*shape):
        value = _evaluate(body, index)
        if value is None:
            return None
        values[index] = value
    return values


def _evaluate(body: list[ir.Operation], index: tuple[int, ...]) -> float | None:
    """What a body yields at an index; None if it does more than choose."""
    known: dict[ir.Value, _Number] = {}

    def number(value: ir.Value) -> _Number | None:
        if value in known:
            return known[value]
        if isinstance(value.owner, ir.Block):
            return None
        owner = value.owner.operation
        return _constant(owner) if owner.name == "arith.constant" else None

    for op in body:
        operands = [number(operand) for operand in op.operands]
        if op.name == "linalg.yield":
            return None if operands[0] is None else float(operands[0])
        result = _compute(op, operands, index)
        if result is None:
            return None
        known[op.results[0]] = result
    return None


def _constant(op: ir.Operation) -> _Number | None:
    attribute = op.attributes["value"]
    return attribute.value if isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr)) else None


def _compute(
    op: ir.Operation, operands: list[_Number | None], index: tuple[int, ...]
) -> _Number | None:
    if op.name == "linalg.index":
        return index[ir.IntegerAttr(op.attributes["dim"]).value]
    if op.name == "arith.constant":
        return _constant(op)
    if any(operand is None for operand in operands):
        return None
    if op.name == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if op.name == "arith.andi":
        return bool(operands[0]) and bool(operands[1])
    if op.name == "arith.cmpi" and ir.IntegerAttr(op.attributes["predicate"]).value == 0:
        return operands[0] == operands[1]
    return None
