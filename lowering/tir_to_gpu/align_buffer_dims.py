"""`tir-align-buffer-dims`: rows of tiles in shared memory that start in different banks.

`storage_align` annotates a block (`buffer_dim_align`): the stride of a dimension of what it writes
is to be `offset` modulo `factor`.  The rows of the buffer get longer; what is in them stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside
from relax_mlir.lowering.tir_to_gpu.memory_accesses import element_bytes
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.analysis import written_buffers

__all__ = ["AlignBufferDims"]

_KEY = "buffer_dim_align"
_ROW_ALIGNMENT = 16
"""Bytes that rows start at multiples of where whole warps, or copies of 16 bytes, read them."""

_USERS = ("memref.load", "memref.store", "vector.load", "vector.store", "tir.read", "tir.write")


@register_pass("tir-align-buffer-dims")
@dataclass(frozen=True)
class AlignBufferDims(Pass):
    """Lengthen the rows of shared buffers as `storage_align` asks."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" not in function.attributes:
                continue
            blocks = [op.opview for op in inside(function) if op.name == "tir.block"]
            for block in blocks:
                if isinstance(block, BlockOp) and "annotations" in block.operation.attributes:
                    _align(block)


def _align(block: BlockOp) -> None:
    annotations = from_attribute(block.operation.attributes["annotations"])
    rows = annotations.get(_KEY, [])
    written = written_buffers(block)
    for number, axis, factor, offset in rows:
        if number < len(written):
            _lengthen(written[number], int(axis), int(factor), int(offset))


def _lengthen(buffer: ir.Value, axis: int, factor: int, offset: int) -> None:
    owner = buffer.owner
    view = None if isinstance(owner, ir.Block) else owner.operation.opview
    if not isinstance(view, AllocBufferOp) or not view.scope.value.startswith("shared"):
        return
    kind = ir.MemRefType(buffer.type)
    axis = axis % kind.rank
    if not kind.has_static_shape or axis != kind.rank - 2:
        return
    row = kind.shape[-1]
    longer = row + (offset - row) % factor
    plain = all(use.owner.operation.name in _USERS for use in buffer.uses)
    if longer == row or (not plain and longer * element_bytes(kind.element_type) % _ROW_ALIGNMENT):
        return
    shape = [*kind.shape[:-1], longer]
    buffer.set_type(ir.MemRefType.get(shape, kind.element_type, kind.layout, kind.memory_space))
