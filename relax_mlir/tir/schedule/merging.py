"""Running loops of different nests together: merge."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.bindings import same_iteration
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.loops import require_plain
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    erase_dead_arithmetic,
    loop_dtype,
    new_loop,
    substitute,
)


def merge(state: ScheduleState, loops: Sequence[ForOp]) -> ForOp:
    """One loop that does in each iteration what the given ones, which follow each other, do."""
    if len(loops) < 2:
        raise Refusal("merge takes at least two loops", *loops)
    first = loops[0]
    for number, loop in enumerate(loops):
        require_plain(loop)
        if loop in loops[:number]:
            raise Refusal(f"{label(loop)} is given more than once", loop)
        if as_index(loop.min) != Index() or as_index(loop.extent) != as_index(first.extent):
            raise Refusal(f"{label(loop)} and {label(first)} do not run over the same range from 0",
                          loop, first)  # fmt: skip
    _require_neighbours(loops)
    _require_same_iterations(loops)
    name = f"{nest.value_name(nest.loop_var(first), 'i')}_m"
    at = ir.InsertionPoint(first)
    merged = new_loop(name, as_index(first.extent), at, attributes=loop_dtype(first))
    _move_arithmetic(loops, merged)
    for loop in loops:
        for op in nest.operations(loop.block):
            merged.block.append(op.operation)
        substitute({nest.loop_var(loop): leaf(nest.loop_var(merged))})
    for loop in loops:
        state.erase(loop)
    erase_dead_arithmetic(merged)
    return merged


def _move_arithmetic(loops: Sequence[ForOp], merged: ForOp) -> None:
    """What is computed between the loops, and used in them, is computed before their merged one."""
    parent = nest.parent(loops[0])
    assert parent is not None, "a loop is inside a function"
    ops = nest.operations(nest.body_of(parent))
    for op in ops[ops.index(loops[0]) : ops.index(loops[-1])]:
        if nest.is_movable(op):
            op.operation.move_before(merged.operation)


def _require_neighbours(loops: Sequence[ForOp]) -> None:
    parent = nest.parent(loops[0])
    for loop in loops:
        if nest.parent(loop) != parent:
            raise Refusal(f"{label(loop)} and {label(loops[0])} are not in the same body",
                          loop, loops[0])  # fmt: skip
    assert parent is not None, "a loop is inside a function"
    body = nest.statements(nest.body_of(parent))
    start = body.index(loops[0])
    if body[start : start + len(loops)] != list(loops):
        raise Refusal("the loops do not follow each other in this order", *loops)


def _require_same_iterations(loops: Sequence[ForOp]) -> None:
    for number, earlier in enumerate(loops):
        for later in loops[number + 1 :]:
            renamed = {nest.loop_var(earlier): leaf(nest.loop_var(later))}
            for first in nest.child_blocks(earlier):
                for second in nest.child_blocks(later):
                    if not same_iteration(first, second, [nest.loop_var(later)], renamed):
                        raise Refusal(f"{label(first)} and {label(second)} meet in a buffer across "
                                      "iterations", first, second)  # fmt: skip
