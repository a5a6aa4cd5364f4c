"""How the iterations of a loop are run: parallel, vectorize, unroll, bind."""

from __future__ import annotations

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    read_buffers,
    require_block_bodies,
    written_buffers,
)
from relax_mlir.tir.schedule.bindings import bindings_determine, same_iteration
from relax_mlir.tir.schedule.compute_location import covers
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.facts import unchanged
from relax_mlir.tir.schedule.index import as_index, defining
from relax_mlir.tir.schedule.ordering import accumulates, require_orderable
from relax_mlir.tir.schedule.state import ScheduleState

THREAD_AXES = (
    *(f"{group}.{axis}" for group in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"),
    "vthread",
)


def parallel(state: ScheduleState, loop: ForOp) -> None:
    """Run the iterations on the cores."""
    require_parallel(loop, "parallel")
    set_kind(loop, "parallel")


def vectorize(state: ScheduleState, loop: ForOp) -> None:
    """Run the iterations as lanes of vectors."""
    require_parallel(loop, "vectorized")
    set_kind(loop, "vectorized")


def unroll(state: ScheduleState, loop: ForOp) -> None:
    """Write the iterations out."""
    set_kind(loop, "unrolled")


def bind(state: ScheduleState, loop: ForOp, thread_axis: str) -> None:
    """Run the iterations on the blocks or threads of a GPU along an axis."""
    if thread_axis not in THREAD_AXES:
        raise Refusal(f'"{thread_axis}" is no thread axis', loop,
                      hint="one of " + ", ".join(THREAD_AXES))  # fmt: skip
    if as_index(loop.extent).as_constant() != 1:  # one iteration may run anywhere
        require_parallel(loop, thread_axis)
    _require_one_thread(loop, thread_axis)
    set_kind(loop, "thread_binding", thread_axis)


def _require_one_thread(loop: ForOp, thread_axis: str) -> None:
    """Nested loops on one axis are the same thread, so what is inside must not need both."""
    bound = [o for o in nest.loops_around(loop) if nest.thread_axis(o) == thread_axis]
    inner = [op for op in nest.descend(loop) if isinstance(op, ForOp)]
    pairs = [(outer, loop) for outer in bound]
    pairs += [(loop, op) for op in inner if nest.thread_axis(op) == thread_axis]
    for outer, below in pairs:
        for block in nest.child_blocks(below):
            if any(binding.uses(nest.loop_var(outer)) for binding in bindings_of(block)):
                raise Refusal(f"{label(outer)} and {label(below)} would be the same {thread_axis}, "
                              f"and {label(block)} needs both", outer, below, block,
                              hint="bind the outer loops before compute_at")  # fmt: skip


def set_kind(loop: ForOp, kind: str, thread: str | None = None) -> None:
    attributes = loop.operation.attributes
    if "thread" in attributes:
        del attributes["thread"]
    attributes["kind"] = ir.StringAttr.get(kind)
    if thread is not None:
        attributes["thread"] = ir.StringAttr.get(thread)


def require_parallel(loop: ForOp, how: str) -> None:
    """Refuse unless the iterations may run at the same time."""
    with unchanged():
        _require_parallel(loop, how)


def _require_parallel(loop: ForOp, how: str) -> None:
    variable = nest.loop_var(loop)
    require_block_bodies(loop)
    blocks = nest.child_blocks(loop)
    for block in blocks:
        require_orderable(block)
        _require_spatial(loop, block, how)
        if accumulates(block) and not bindings_determine(block, [variable]):
            raise Refusal(f"iterations of {label(loop)} may update the same instance of "
                          f"{label(block)}", loop, block)  # fmt: skip
    for number, first in enumerate(blocks):
        for second in blocks[number + 1 :]:
            _require_apart(loop, first, second, how)


def _require_spatial(loop: ForOp, block: BlockOp, how: str) -> None:
    """Spatial variables only; a reduction across the threads of a block is allowed."""
    allowed = {"S", "R"} if how.startswith("threadIdx") else {"S"}
    variable = nest.loop_var(loop)
    rows = zip(nest.iter_vars(block), block.kinds, bindings_of(block), strict=True)
    for value, kind, binding in rows:
        if binding.uses(variable) and kind not in allowed:
            raise Refusal(
                f"{label(loop)} cannot be {how}: it drives {nest.value_name(value)} of "
                f"{label(block)}, which is a {_KINDS[kind]} variable",
                loop, block,
                hint="rfactor makes a reduction loop parallel" if kind == "R" else None,
            )  # fmt: skip


_KINDS = {"S": "spatial", "R": "reduction", "O": "opaque", "D": "scan"}


def _require_apart(loop: ForOp, first: BlockOp, second: BlockOp, how: str) -> None:
    """Two blocks must not meet in a buffer across iterations, unless each iteration makes all that
    it reads there."""
    buffers = set(written_buffers(first)) & {*read_buffers(second), *written_buffers(second)}
    buffers |= set(read_buffers(first)) & set(written_buffers(second))
    # What is private is the quicker question for buffers of the loop, and false at once for others.
    shared = [b for b in buffers if not _is_private(b, loop, how, first, second)]
    if shared and not same_iteration(first, second, [nest.loop_var(loop)]):
        names = ", ".join(sorted(nest.value_name(b, "a buffer") for b in shared))
        raise Refusal(f"{label(loop)} cannot be {how}: {label(first)} and {label(second)} meet in "
                      f"{names} across iterations", loop, first, second)  # fmt: skip


def _is_private(buffer: ir.Value, loop: ForOp, how: str, first: BlockOp, second: BlockOp) -> bool:
    """True for a buffer of which an iteration only reads what it wrote itself before, or one that
    synchronised threads share."""
    producer = defining(buffer)
    if producer is None or "scope" not in producer.attributes:
        return False
    scope = ir.StringAttr(producer.attributes["scope"]).value
    if how.startswith(("threadIdx", "vthread")) and scope.startswith("shared"):
        return True
    inside = all(nest.is_ancestor(loop, use.owner.operation.opview) for use in buffer.uses)
    return inside and covers(loop, first, second, buffer)
