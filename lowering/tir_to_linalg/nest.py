"""Loop nests around one block, as a program has them before it is scheduled."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir.symbolic import dimension
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.nest import encloses


@dataclass
class Nest:
    """A perfect nest of loops around a block; `loops` is empty for a block without loops."""

    loops: list[ForOp]
    block: BlockOp

    @property
    def outermost(self) -> ir.Operation:
        return (self.loops[0] if self.loops else self.block).operation


def nest_of(op: ir.Operation) -> Nest | None:
    """The nest that starts at `op`, or None when more than one block or statement is inside."""
    loops: list[ForOp] = []
    while op.name == "tir.for":
        loop = op.opview
        loops.append(loop)
        inner = [o.operation for o in loop.block.operations if not _is_index_arithmetic(o)]
        if len(inner) != 1:
            return None
        op = inner[0]
    return Nest(loops, op.opview) if op.name == "tir.block" else None


def is_unscheduled(nest: Nest) -> bool:
    """True when the n-th iteration variable is the n-th loop, serial, over its whole domain.

    Such a nest says what to compute, not how.  One that was split, fused, reordered, bound or
    annotated, by hand or by a schedule, is lowered as it stands.
    """
    block = nest.block
    if len(block.predicate) or len(nest.loops) != len(block.kinds):
        return False
    if _is_annotated_for_scheduling(block.operation):
        return False
    if any(not _is_plain(loop) for loop in nest.loops):
        return False
    variables = [loop.induction_variable for loop in nest.loops]
    for variable, loop, binding, (start, extent) in zip(
        variables, nest.loops, block.bindings, block.domain_pairs, strict=True
    ):
        if binding != variable or start != 0:
            return False
        if loop.extent == 0:  # linalg checks the bounds of accesses that never happen
            return False
        if isinstance(loop.extent, ir.Value) and _varies(loop.extent, nest.loops[0]):
            return False  # a triangle: linalg iterates over boxes
        if not dims.equal(dimension(extent), dimension(loop.extent)):
            return False
    return True


def _varies(value: ir.Value, outermost: ForOp) -> bool:
    """Whether a value is computed from what changes in the loops, or read there."""
    if not encloses(outermost, value):
        return False
    if isinstance(value, ir.BlockArgument):
        return True
    op = value.owner.operation
    fixed = op.name.split(".")[0] in ("affine", "arith")
    return not fixed or any(_varies(operand, outermost) for operand in op.operands)


# Annotations that ask for a lowering of their own.  Others, such as the axis of a softmax, only
# describe the block.
_SCHEDULING = ("buffer_dim_align", "double_buffer", "meta_schedule.", "pragma_", "software_",
               "tensor_core", "thread_", "warp_")  # fmt: skip


def _is_annotated_for_scheduling(op: ir.Operation) -> bool:
    if "annotations" not in op.attributes:
        return False
    names = [named.name for named in ir.DictAttr(op.attributes["annotations"])]
    return any(name.startswith(_SCHEDULING) for name in names)


def _is_plain(loop: ForOp) -> bool:
    annotated = "annotations" in loop.operation.attributes
    return loop.kind.value == "serial" and loop.min == 0 and not annotated


def _is_index_arithmetic(op: ir.OpView) -> bool:
    return op.operation.name.split(".")[0] in ("affine", "arith")
