"""`T.unroll` and the unrolling pragmas: iterations written out one after the other.

A loop of known extent is written out as long as the code stays below `MAX_OPERATIONS`; a larger one
stays a loop that asks LLVM to unroll it as far as it finds useful.  `pragma_auto_unroll_max_step`
on a loop or block writes out the serial loops below it that take at most so many steps in all;
with `pragma_unroll_explicit` 0 the loops stay and LLVM is asked.

Kernels of GPUs hand the question on (`to_nvvm/nvvm.py`).  On the CPU it ends with the llvm dialect:
there LLVM answers what it cannot follow by a warning without a place, and unrolls by its own count.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir_to_scf.structure import index_value, move_before, serial_loop
from relax_mlir.mlir import ir

__all__ = ["MAX_OPERATIONS", "Pragmas", "lower_unrolled", "read_pragmas", "steps_of"]

MAX_OPERATIONS = 8192
"""The most operations that a loop is written out to."""

_HINT = "#llvm.loop_annotation<unroll = <disable = false>>"


@dataclass(frozen=True)
class Pragmas:
    """The unrolling pragmas in force: the most steps of a loop that is unrolled by itself, and
    whether loops are written out here (or left to LLVM)."""

    auto_max_step: int = 0
    explicit: bool = True


def read_pragmas(op: ir.Operation, around: Pragmas) -> Pragmas:
    """The pragmas inside `op`, given those around it."""
    if "annotations" not in op.attributes:
        return around
    named = {n.name: n.attr for n in ir.DictAttr(op.attributes["annotations"])}
    step = _number(named.get("pragma_auto_unroll_max_step"), around.auto_max_step)
    explicit = _number(named.get("pragma_unroll_explicit"), int(around.explicit))
    return Pragmas(step, bool(explicit))


def _number(attribute: ir.Attribute | None, default: int) -> int:
    if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)):
        return int(attribute.value)
    return default


def steps_of(loop: ForOp) -> int | None:
    """How many times the innermost statements below a loop run; None when that is not known."""
    extent = loop.extent
    if not isinstance(extent, int):
        return None
    inner = 1
    for view in loop.block.operations:
        for nested in _loops_in(view.operation):
            steps = steps_of(nested)
            if steps is None:
                return None
            inner = max(inner, steps)
    return extent * inner


def _loops_in(op: ir.Operation) -> list[ForOp]:
    """The outermost loops at or below an operation."""
    if isinstance(op.opview, ForOp):
        return [op.opview]
    return [
        loop
        for region in op.regions
        for block in region.blocks
        for child in block.operations
        for loop in _loops_in(child.operation)
    ]


def lower_unrolled(loop: ForOp, *, explicit: bool = True) -> None:
    """Replace a `tir.for`, whose body is lowered, by its iterations."""
    start, extent = loop.min, loop.extent
    known = isinstance(start, int) and isinstance(extent, int)
    if not explicit or not known or extent * _size(loop.operation) > MAX_OPERATIONS:
        created = serial_loop(loop)
        created.operation.attributes["llvm.loop_annotation"] = ir.Attribute.parse(_HINT)
        return
    assert isinstance(start, int) and isinstance(extent, int)
    anchor = loop.operation
    for number in range(start, start + extent):
        copy = anchor if number == start + extent - 1 else anchor.clone().operation
        view = copy.opview
        assert isinstance(view, ForOp), "a copy of a loop is one"
        if any(True for _ in view.induction_variable.uses):
            with ir.InsertionPoint(anchor):
                view.induction_variable.replace_all_uses_with(index_value(number))
        move_before(view.block, anchor)
        if copy is not anchor:
            copy.erase()
    anchor.erase()


def _size(op: ir.Operation) -> int:
    """The number of operations inside `op`."""
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return count
