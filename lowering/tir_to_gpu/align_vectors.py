"""`gpu-align-vectors`: vector accesses say what they are aligned to, so that they stay wide.

Without an alignment a vector of four floats is four loads.  Buffers in shared memory are aligned to
16 bytes; so is the memory of a kernel's arguments where a vector access needs it, which the host
checks before it launches.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside, kernels_of
from relax_mlir.lowering.tir_to_gpu.memory_accesses import element_bytes, root_of
from relax_mlir.mlir import dynamic, ir
from relax_mlir.tir.schedule.index import Index, as_index

__all__ = ["ALIGNED", "WIDEST", "AlignVectors"]

WIDEST = 16
"""Bytes of the widest access of a thread."""

ALIGNED = "llvm.align"
"""Argument attribute of kernels: what the memory of a buffer has to be aligned to."""

_VECTORS = {"vector.load": 0, "vector.store": 1}
"""Operation -> the number of the operand that is its buffer."""


@register_pass("gpu-align-vectors")
@dataclass(frozen=True)
class AlignVectors(Pass):
    """Put alignments on the vector accesses of kernels and on the arguments that need them."""

    def run(self, state: ModuleState) -> None:
        for kernel in kernels_of(state):
            _align(kernel)


def _align(kernel: ir.Operation) -> None:
    entry = kernel.regions[0].blocks[0]
    count = len(ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs)
    wanted = [1] * count
    i64 = ir.IntegerType.get_signless(64)
    for op in inside(kernel):
        if op.name not in _VECTORS:
            continue
        position = _VECTORS[op.name]
        buffer = op.operands[position]
        value = op.results[0] if position == 0 else op.operands[0]
        indices = [as_index(v) for v in list(op.operands)[position + 1 :]]
        known = _alignment(ir.MemRefType(buffer.type), indices, ir.VectorType(value.type))
        if known > element_bytes(ir.VectorType(value.type).element_type):
            op.attributes["alignment"] = ir.IntegerAttr.get(i64, known)
            root = root_of(buffer)
            if isinstance(root.owner, ir.Block) and root.owner == entry:
                number = ir.BlockArgument(root).arg_number
                if number < count and not is_workgroup(root.type):
                    wanted[number] = max(wanted[number], known)
    if any(bytes_ > 1 for bytes_ in wanted):
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                ir.DictAttr.get({ALIGNED: ir.IntegerAttr.get(i64, w)} if w > 1 else {})
                for w in wanted
            ]
        )


def _alignment(kind: ir.MemRefType, indices: list[Index], vector: ir.VectorType) -> int:
    """The bytes, a power of two, that an access is certainly aligned to if its buffer is."""
    strides, offset = kind.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    shared = gcd(0, 1 if offset == unknown else offset)
    sizes = list(kind.shape)
    row_major = kind.affine_map == ir.AffineMap.get_identity(kind.rank)
    for axis, index in enumerate(indices):
        stride = strides[axis]
        if stride == unknown:
            stride = _row_stride(sizes[axis + 1 :]) if row_major else 1
        shared = gcd(shared, stride * _divisor(index))
    element, lanes = element_bytes(vector.element_type), vector.shape[-1]
    # Of a power of two of elements at most: LLVM splits others.
    whole = element * (lanes & -lanes)
    multiple = shared * element if shared else WIDEST
    return min(multiple & -multiple, whole, WIDEST)


def _divisor(index: Index) -> int:
    """A number that divides every value of an index; 0 for the index 0."""
    return gcd(index.constant, *index.terms.values())


def _row_stride(sizes: list[int]) -> int:
    """What divides the stride of a dimension of a row-major buffer before these."""
    return prod(size for size in sizes if size != dynamic())
