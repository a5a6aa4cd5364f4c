"""Reshapes as views: what is only another shape of an argument needs no copy.

A reshape that no reader or producer could take in, because its indices do not fit an affine loop
nest, copies the whole buffer.  Where one side is a temporary and the other an argument that nothing
else writes, the temporary becomes a view of the argument.
"""

from __future__ import annotations

import math

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.builder import defining_op, reinterpreted
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, LoopNest, parse
from relax_mlir.mlir import ir

__all__ = ["replace_reshapes"]


def replace_reshapes(block: ir.Block, uses: BufferUses) -> None:
    """Let temporaries of a function's outermost block that are reshaped arguments be views."""
    for op in [view.operation for view in block.operations]:
        nest = parse(op, quotients=True) if op.name == "linalg.generic" else None
        if nest is None or not _is_reshape(nest):
            continue
        source, target = list(op.operands)
        if _is_read_only(source, uses) and _is_written_by(op, target, uses):
            _become_view(target, source, op)
        elif _is_touched_by(op, target, uses) and _is_result_of_elementwise(source, op, uses):
            _become_view(source, target, op)


def _is_reshape(nest: LoopNest) -> bool:
    """Whether the nest hands all elements of one buffer on to another in the same flat order."""
    if len(nest.operands) != 2 or len(nest.inputs()) != 1 or any(nest.reduction):
        return False
    operations = list(nest.body.block.operations)
    given = operations[-1].operation.operands[0]
    if given != nest.body.block.arguments[0] or nest.operands[0].is_scalar:
        return False
    types = [ir.MemRefType(operand.value.type) for operand in nest.operands]
    if any(not type_.has_static_shape or not _is_row_major(type_) for type_ in types):
        return False
    flat = nest.simplify()
    if flat.rank != 1 or any(o.strides[0] != ONE or o.base for o in flat.operands):
        return False
    return {math.prod(type_.shape) for type_ in types} == {flat.extents[0].static}


def _is_row_major(type_: ir.MemRefType) -> bool:
    return type_.affine_map == ir.AffineMap.get_identity(type_.rank)


def _is_read_only(source: ir.Value, uses: BufferUses) -> bool:
    """Whether the buffer is an argument of its own that nothing writes or views."""
    if not uses.is_private(source) or uses.is_temporary(source):
        return False
    users = [use.owner.operation for use in source.uses]
    return all(user.name.startswith("linalg.") for user in users) and not any(
        source in outputs_of(user) for user in users
    )


def _is_written_by(op: ir.Operation, target: ir.Value, uses: BufferUses) -> bool:
    """Whether `op` alone writes the temporary, in a block with all its readers."""
    if not uses.is_temporary(target):
        return False
    readers = uses.remaining_users(target, op)
    return all(
        reader.name == "linalg.generic"
        and reader.block == op.block
        and op.is_before_in_block(reader)
        and target not in outputs_of(reader)
        for reader in readers
    )


def _is_touched_by(op: ir.Operation, target: ir.Value, uses: BufferUses) -> bool:
    """Whether the buffer is an argument of its own that nothing but `op` touches."""
    private = uses.is_private(target) and not uses.is_temporary(target)
    return private and not uses.remaining_users(target, op)


def _is_result_of_elementwise(source: ir.Value, op: ir.Operation, uses: BufferUses) -> bool:
    """Whether the temporary is written by one elementwise operation and read by `op` only; it may
    overwrite nothing that it reads."""
    if not uses.is_temporary(source):
        return False
    users = uses.remaining_users(source, op)
    if len(users) != 1 or users[0].name != "linalg.generic" or users[0].block != op.block:
        return False
    nest = parse(users[0])
    writes = source in outputs_of(users[0]) and users[0].is_before_in_block(op)
    return nest is not None and writes and not any(nest.reduction)


def _become_view(temporary: ir.Value, buffer: ir.Value, op: ir.Operation) -> None:
    """Replace a temporary by a view of the buffer that `op` copies it from or to."""
    allocation = defining_op(temporary)
    assert allocation is not None
    with ir.InsertionPoint(allocation), op.location:
        view = reinterpreted(buffer, ir.MemRefType(temporary.type))
    op.erase()
    temporary.replace_all_uses_with(view)
    allocation.erase()
