"""Small matrices that a program makes of constants, read as numbers."""

from __future__ import annotations

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.mlir import ir

__all__ = ["constant_matrix"]

_LARGEST = 256
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
    """What a body yields at every index; None if it does more than choose."""
    places = np.indices(shape)
    known: dict[ir.Value, np.ndarray] = {}
    for view in op.regions[0].blocks[0].operations:
        inner = view.operation
        operands = [found for x in inner.operands if (found := _number(x, known)) is not None]
        if len(operands) < len(inner.operands):
            return None
        if inner.name == "linalg.yield":
            return np.broadcast_to(operands[0], shape).astype(float)
        result = _compute(inner, operands, places)
        if result is None:
            return None
        known[inner.results[0]] = result
    return None


def _number(value: ir.Value, known: dict[ir.Value, np.ndarray]) -> np.ndarray | None:
    """The values at all indices of what was computed or is a constant, also one made outside."""
    if value in known or isinstance(value.owner, ir.Block):
        return known.get(value)
    owner = value.owner.operation
    return _constant(owner) if owner.name == "arith.constant" else None


def _constant(op: ir.Operation) -> np.ndarray | None:
    attribute = op.attributes["value"]
    plain = isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr))
    return np.asarray(attribute.value) if plain else None


def _compute(op: ir.Operation, operands: list[np.ndarray], places: np.ndarray) -> np.ndarray | None:
    """The values of an operation at all indices at once; None for one that is not known."""
    if op.name == "linalg.index":
        return places[ir.IntegerAttr(op.attributes["dim"]).value]
    if op.name == "arith.constant":
        return _constant(op)
    if op.name == "arith.select":
        return np.where(*operands)
    if op.name == "arith.andi":
        return np.logical_and(*operands)
    if op.name == "arith.cmpi" and ir.IntegerAttr(op.attributes["predicate"]).value == 0:
        return np.equal(*operands)
    return None
