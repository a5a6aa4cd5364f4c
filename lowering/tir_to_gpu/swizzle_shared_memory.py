"""`gpu-swizzle-shared-memory`: tiles that `wgmma` reads lie swizzled, and are shown to it.

A tile's rows are 128 bytes; chunk c of 16 bytes of row r lies at c xor r mod 8, so that eight rows
of a chunk are in different banks.  Tensor cores read by another way (the asynchronous proxy) than
what threads and `cp.async` write by: before a barrier each thread makes its writes visible there.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.matrices import SWIZZLED_BYTES
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name
from relax_mlir.lowering.tir_to_gpu.memory_accesses import element_bytes, root_of
from relax_mlir.mlir import arith, ir, operations_named
from relax_mlir.tir.schedule.index import Index, as_index, floordiv, leaf, mod
from relax_mlir.tir.schedule.index_write import write

__all__ = ["DESCRIPTOR", "MATRIX_ALIGNMENT", "SwizzleSharedMemory", "matrices"]

DESCRIPTOR = "tir.matrix_descriptor"
MATRIX_ALIGNMENT = 1024
"""Bytes after which the pattern repeats, eight rows; it is one of addresses."""

_CHUNK = 8
_ROWS = 8
_BUFFERS = {
    "memref.load": 0,
    "vector.load": 0,
    "memref.store": 1,
    "vector.store": 1,
    "nvgpu.device_async_copy": 0,
}
"""Operation -> the operand that is the buffer, before its indices."""


@register_pass("gpu-swizzle-shared-memory")
@dataclass(frozen=True)
class SwizzleSharedMemory(Pass):
    """Swizzle what is written into tiles of `wgmma`, and put fences before barriers."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for op in operations_named(function, ["gpu.launch"]):
                _swizzle(op)


def matrices(launch: ir.Operation) -> set[ir.Value]:
    """The buffers of a kernel that matrices are read from by descriptors."""
    return {root_of(op.operands[0]) for op in operations_named(launch, [DESCRIPTOR])}


def _swizzle(launch: ir.Operation) -> None:
    descriptors = operations_named(launch, [DESCRIPTOR])
    if not descriptors:
        return
    for op in descriptors:
        _require_rows(op)
    found = {op.operands[0] for op in descriptors}
    for op in operations_named(launch, ["gpu.barrier"]):
        _fence(op)
    for op in operations_named(launch, _BUFFERS):
        if op.operands[_BUFFERS[op.name]] in found:
            _rewrite(op, _BUFFERS[op.name])


def _require_rows(descriptor: ir.Operation) -> None:
    """Raises CompileError for a tile that does not lie as the descriptor says: in rows of 128 bytes
    one after the other, groups of columns `leading` bytes apart."""
    buffer = descriptor.operands[0]
    kind = ir.MemRefType(buffer.type)
    strides, _ = kind.get_strides_and_offset()
    size = element_bytes(kind.element_type)
    row = SWIZZLED_BYTES // size
    group = ir.IntegerAttr(descriptor.attributes["leading"]).value // size
    rows_fit = (kind.shape[-1], strides[-2]) == (row, row)
    if not rows_fit or (group >= row and strides[-3] != group):
        raise CompileError(
            f"{function_name(descriptor)}: wgmma reads {describe(buffer)} in rows of "
            f"{SWIZZLED_BYTES} bytes, it has {kind}",
            hint=f"tile the products by {row} elements, without padding",
        )


def _fence(barrier: ir.Operation) -> None:
    ir.Operation.create(
        "nvvm.fence.proxy",
        attributes={
            "kind": ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"),
            "space": ir.Attribute.parse("#nvvm.shared_space<cta>"),
        },
        loc=barrier.location,
        ip=ir.InsertionPoint(barrier),
    )


def _rewrite(op: ir.Operation, position: int) -> None:
    """Let an access use the place of its chunk."""
    last = position + ir.MemRefType(op.operands[position].type).rank
    row, column = (as_index(op.operands[n]) for n in (last - 1, last))
    at, chunk = ir.InsertionPoint(op), Index({}, _CHUNK)
    plain, key = (
        write(index, at, op.location)
        for index in (floordiv(column, chunk), mod(row, Index({}, _ROWS)))
    )
    with at, op.location:
        swizzled = leaf(arith.xori(plain, key)) * _CHUNK + mod(column, chunk)
        op.operands[last] = write(swizzled, at, op.location)
