"""Hints for later passes, and properties of buffers: annotate, storage_align, set_scope."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.mlir import ir, memref
from relax_mlir.tir.math_ops import convert
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import reads_of, require_block, writes_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.state import ScheduleState


def annotations_of(op: ir.OpView) -> dict[str, Any]:
    attributes = op.operation.attributes
    return from_attribute(attributes["annotations"]) if "annotations" in attributes else {}


def set_annotations(op: ir.OpView, values: dict[str, Any]) -> None:
    attributes = op.operation.attributes
    if values:
        attributes["annotations"] = to_attribute(values)
    elif "annotations" in attributes:
        del attributes["annotations"]


def annotate(state: ScheduleState, block_or_loop: ir.OpView, ann_key: str, ann_val: Any) -> None:
    """Add or replace an annotation."""
    try:
        set_annotations(block_or_loop, {**annotations_of(block_or_loop), ann_key: ann_val})
    except TypeError as error:
        raise Refusal(str(error), block_or_loop) from None


def unannotate(state: ScheduleState, block_or_loop: ir.OpView, ann_key: str) -> None:
    """Remove an annotation."""
    values = annotations_of(block_or_loop)
    if ann_key not in values:
        known = ", ".join(sorted(values)) or "none"
        raise Refusal(f'{label(block_or_loop)} has no annotation "{ann_key}"; it has {known}',
                      block_or_loop)  # fmt: skip
    del values[ann_key]
    set_annotations(block_or_loop, values)


def access_buffer(block: ir.OpView, index: int | str, kind: str) -> ir.Value:
    """The buffer of a block's read or write region, by number or by name."""
    accesses = (reads_of if kind == "read" else writes_of)(require_block(block))
    if isinstance(index, str):
        named = [a.buffer for a in accesses if nest.value_name(a.buffer) == index]
        if not named:
            known = ", ".join(nest.value_name(a.buffer) for a in accesses) or "none"
            raise Refusal(f"{label(block)} has no {kind} of {index}; it has {known}", block)
        return named[0]
    if not 0 <= index < len(accesses):
        raise Refusal(f"{label(block)} has {len(accesses)} {kind} regions, no number {index}",
                      block)  # fmt: skip
    return accesses[index].buffer


def allocation(buffer: ir.Value, block: ir.OpView) -> AllocBufferOp:
    """The `tir.alloc_buffer` of a buffer, refusing parameters."""
    owner = buffer.owner
    op = None if isinstance(owner, ir.Block) else owner.operation.opview
    if not isinstance(op, AllocBufferOp):
        raise Refusal(f"{nest.value_name(buffer)} is a parameter, not allocated here", block)
    return op


def set_scope(
    state: ScheduleState, block: ir.OpView, buffer_index: int | str, storage_scope: str
) -> None:
    """Set the storage scope of a buffer the block writes; its name says so, as in TVM."""
    buffer = access_buffer(block, buffer_index, "write")
    check_scope(storage_scope, block)
    operation = allocation(buffer, block).operation
    if ir.StringAttr(operation.attributes["scope"]).value == storage_scope:
        return
    operation.attributes["scope"] = ir.StringAttr.get(storage_scope)
    name = f"{nest.value_name(buffer, 'buffer')}_{storage_scope.replace('.', '_')}"
    operation.location = ir.Location.name(name)


def unsafe_set_dtype(state: ScheduleState, block: ir.OpView, buffer_index: int, dtype: str) -> None:
    """Store a buffer the block writes in another dtype, with conversions around its accesses."""
    buffer = access_buffer(block, buffer_index, "write")
    old_op = allocation(buffer, block)
    kind = ir.MemRefType(buffer.type)
    old = dtypes.from_mlir(kind.element_type)
    try:
        element = dtypes.storage(dtype)
    except ValueError as error:
        raise Refusal(str(error), block) from None
    made = ir.MemRefType.get(kind.shape, element)
    at = ir.InsertionPoint(old_op)
    new = AllocBufferOp(old_op.scope, list(old_op.sizes), made, loc=old_op.location, ip=at)
    for use in [u.owner.operation for u in buffer.uses]:
        if use.name == "memref.store":
            with ir.InsertionPoint(use), use.location:
                value = convert(use.operands[0], old, dtype, element)
                memref.store(value, new.result, list(use.operands)[2:])
            use.erase()
        elif use.name == "memref.load":
            with ir.InsertionPoint(use), use.location:
                loaded = memref.load(new.result, list(use.operands)[1:])
                value = convert(loaded, dtype, old, kind.element_type)
            use.results[0].replace_all_uses_with(value)
            use.erase()
        else:
            use.replace_uses_of_with(buffer, new.result)
    old_op.operation.erase()


SCOPES = ("global", "shared", "local", "warp", "texture", "wmma", "m16n8k8", "metal", "meta")


def check_scope(storage_scope: str, block: ir.OpView) -> None:
    if storage_scope.split(".")[0] not in SCOPES:
        raise Refusal(f'"{storage_scope}" is no storage scope', block,
                      hint="one of " + ", ".join(SCOPES))  # fmt: skip


def storage_align(
    state: ScheduleState, block: ir.OpView, buffer_index: int, axis: int, factor: int, offset: int
) -> None:
    """Ask that an axis' stride be `offset` modulo `factor`: the block's `buffer_dim_align`."""
    buffer = access_buffer(block, buffer_index, "write")
    allocation(buffer, block)
    rank = ir.MemRefType(buffer.type).rank
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        raise Refusal(f"{nest.value_name(buffer)} has {rank} axes, no number {axis}", block)
    if factor <= 0:
        raise Refusal(f"factor {factor} is not positive", block)
    key = "buffer_dim_align"
    old = [list(entry) for entry in annotations_of(block).get(key, [])]
    kept = [entry for entry in old if entry[:2] != [buffer_index, axis]]
    annotate(state, block, key, [*kept, [buffer_index, axis, factor, offset]])
