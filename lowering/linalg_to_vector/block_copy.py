"""Moving long contiguous runs of elements by the C library's memcpy.

For runs of some kilobytes memcpy knows ways of the CPU that plain vector stores do not have, such
as writing whole cache lines without reading them first.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, LoopNest
from relax_mlir.mlir import ir

__all__ = ["BlockCopyPlan", "emit_block_copy", "plan_block_copy"]

# Shorter runs are copied by vectors, which costs no call.
_LEAST_BYTES = 2048


@dataclass(frozen=True)
class BlockCopyPlan:
    """`dim`: the dimension along which source and destination are contiguous."""

    dim: int
    source: int
    destination: int
    element_bytes: int


def plan_block_copy(nest: LoopNest) -> BlockCopyPlan | None:
    """How to copy by blocks; None if a (simplified) nest does not just move long runs."""
    operations = list(nest.body.block.operations)
    inputs = nest.inputs()
    if len(operations) != 1 or len(inputs) != 1 or len(nest.body.results) != 1:
        return None
    source, destination = inputs[0], nest.body.results[0]
    given = nest.body.block.arguments[nest.body.arguments.index(source)]
    operand = nest.operands[source]
    if operations[0].operation.operands[0] != given or operand.is_scalar or any(nest.reduction):
        return None
    # One buffer would be copied onto itself, where memcpy promises nothing.
    if operand.value == nest.operands[destination].value:
        return None
    if any(stride == ZERO for stride in operand.strides):
        return None  # a run that is written several times is kept in registers
    bytes_ = max(1, operand.element_type.width // 8)
    for dim in range(nest.rank):
        if any(nest.stride(i, dim) != ONE for i in (source, destination)):
            continue
        size = nest.extents[dim].static
        if size is None and nest.rank > 1:
            continue
        if size is None or size * bytes_ >= _LEAST_BYTES:
            return BlockCopyPlan(dim, source, destination, bytes_)
    return None


def emit_block_copy(
    plan: BlockCopyPlan, nest: LoopNest, b: Builder, initial: dict[int, ir.Value]
) -> None:
    """Emit the nest: loops over all dimensions but one, and a call for each run."""
    extents = [nest.emit_extent(b, extent) for extent in nest.extents]

    def emit(dims: list[int], accesses: list[Access]) -> None:
        if dims:
            with b.loop(0, extents[dims[0]]) as position:
                emit(dims[1:], [a.advanced(b, dims[0], position) for a in accesses])
            return
        size = _i64(b, b.mul(extents[plan.dim], plan.element_bytes))
        pointers = [_pointer(b, a, plan) for a in accesses]
        attributes = {"isVolatile": ir.BoolAttr.get(False)}
        b.stmt("llvm.intr.memcpy", [pointers[1], pointers[0], size], attributes)

    accesses = nest.emit_accesses(b)
    both = [accesses[plan.source], accesses[plan.destination]]
    emit([dim for dim in range(nest.rank) if dim != plan.dim], both)


def _i64(b: Builder, value: Index) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    if isinstance(value, int):
        return b.scalar(value, i64)
    return b.op("arith.index_cast", i64, [value])


def _pointer(b: Builder, access: Access, plan: BlockCopyPlan) -> ir.Value:
    assert access.view is not None
    start = b.op("memref.extract_aligned_pointer_as_index", b.index_type, [access.view.value])
    address = b.add(start, b.mul(access.base, plan.element_bytes))
    return b.op("llvm.inttoptr", ir.Type.parse("!llvm.ptr"), [_i64(b, address)])
