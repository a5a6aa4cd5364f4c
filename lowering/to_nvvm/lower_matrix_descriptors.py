"""`gpu-lower-matrix-descriptors`: matrices in shared memory as the words that `wgmma` takes.

PTX ISA, "Matrix descriptor": in units of 16 bytes the address (bits 0 to 13), the leading (16 to
29) and the stride dimension's offset (32 to 45); bits 62 and 63 are the swizzling.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.memory_accesses import element_bytes
from relax_mlir.lowering.tir_to_gpu.swizzle_shared_memory import DESCRIPTOR
from relax_mlir.mlir import arith, dynamic, ir, memref, operations_named

__all__ = ["LEADING_BIT", "STRIDE_BIT", "SWIZZLE_BIT", "LowerMatrixDescriptors", "constant_part"]

LEADING_BIT, STRIDE_BIT, SWIZZLE_BIT = 16, 32, 62
_ADDRESS_BITS = 18
_UNIT = 16
_SWIZZLE_128 = 1


@register_pass("gpu-lower-matrix-descriptors")
@dataclass(frozen=True)
class LowerMatrixDescriptors(Pass):
    """Turn descriptors of matrices into arithmetic on addresses of shared memory."""

    def run(self, state: ModuleState) -> None:
        for module in state.module.body.operations:
            for op in operations_named(module.operation, [DESCRIPTOR]):
                with ir.InsertionPoint(op), op.location:
                    op.results[0].replace_all_uses_with(_word(op))
                op.erase()


def constant_part(op: ir.Operation) -> int:
    """The bits of a descriptor that do not depend on its address."""
    leading, stride = (ir.IntegerAttr(op.attributes[n]).value for n in ("leading", "stride"))
    word = (leading // _UNIT) << LEADING_BIT | (stride // _UNIT) << STRIDE_BIT
    return word | _SWIZZLE_128 << SWIZZLE_BIT


def _word(op: ir.Operation) -> ir.Value:
    buffer, *indices = op.operands
    i64 = ir.IntegerType.get_signless(64)
    kind = ir.MemRefType(buffer.type)
    strides, offset = kind.get_strides_and_offset()
    if dynamic() in (offset, *strides):
        raise CompileError(f"wgmma reads a buffer whose layout is not fixed: {kind}",
                           hint="tile it into shared memory of a constant size")  # fmt: skip

    def number(value: int) -> ir.Value:
        return arith.constant(i64, value)

    base = memref.extract_aligned_pointer_as_index(buffer)
    address = arith.index_cast(i64, base)
    size = element_bytes(kind.element_type)
    for index, stride in zip(indices, strides, strict=True):
        step = arith.muli(arith.index_cast(i64, index), number(stride * size))
        address = arith.addi(address, step)
    units = arith.shrui(arith.andi(address, number((1 << _ADDRESS_BITS) - 1)), number(4))
    return arith.ori(units, number(constant_part(op)))
