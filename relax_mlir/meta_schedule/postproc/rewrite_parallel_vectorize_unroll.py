"""Loops to cores, lanes and written out, as the root block's annotations say."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import (
    annotation,
    is_spatial,
    loop_kind,
    op_of,
    stride_of,
)
from relax_mlir.meta_schedule.postproc.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule.parallel_vectorize_unroll import (
    PARALLEL,
    UNROLL_EXPLICIT,
    UNROLL_IMPLICIT,
    VECTORIZE,
)
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import Access, reads_of, writes_of
from relax_mlir.tir.schedule.index import as_index

__all__ = ["RewriteParallelVectorizeUnroll"]


@dataclass(frozen=True)
class _Asked:
    """What the annotations ask for; None where they say nothing."""

    parallel: int | None
    vectorize: int | None
    unroll_explicit: int | None
    unroll_implicit: int | None


class RewriteParallelVectorizeUnroll(Postproc):
    """Does what `ParallelizeVectorizeUnroll` has written on the root block.

    Outer spatial loops are fused and run in parallel, as many as the limit allows; the innermost
    spatial loops that step through memory one after the other become lanes; the rest may be
    unrolled.  Loops that all step through memory so are one loop, divided between cores and lanes.
    False where a primitive refuses.
    """

    def apply(self, sch: Schedule) -> bool:
        root = sch.get_sblock("root")
        asked = _take_annotations(sch, root)
        if asked == _Asked(None, None, None, None):
            return True
        for block in _child_blocks(sch, root):
            try:
                _rewrite(sch, block, asked)
            except ScheduleError:
                return False
        return True


def _take_annotations(sch: Schedule, root: BlockRV) -> _Asked:
    values: list[int | None] = []
    for key in (PARALLEL, VECTORIZE, UNROLL_EXPLICIT, UNROLL_IMPLICIT):
        value = annotation(sch, root, key)
        if value is not None:
            sch.unannotate(root, key)
        values.append(value if isinstance(value, int) else None)
    return _Asked(*values)


def _child_blocks(sch: Schedule, root: BlockRV) -> list[BlockRV]:
    """The blocks of the function, by their names: a trace that gets them so can be replayed on
    functions with more blocks."""
    with mlir.scope():
        names = [b.sym_name.value for b in nest.child_blocks(sch.get(root))]
    return [sch.get_sblock(name) for name in names if names.count(name) == 1]


def _rewrite(sch: Schedule, block: BlockRV, asked: _Asked) -> None:
    loops = sch.get_loops(block)
    if not loops:
        return
    with mlir.scope():
        op = op_of(sch, block)
        assert op is not None, "children of the root are blocks"
        places = [sch.get(loop) for loop in loops]
        shared = _is_one_row(op, places, asked)
        num_parallel = _num_parallel(op, places, asked.parallel)
        num_vectorized = _num_vectorized(op, places, asked.vectorize)
        spatial = is_spatial(op)
    if shared:
        _share(sch, loops, asked.vectorize or 1)
        return
    if num_parallel and num_vectorized == len(loops) > 1:
        num_vectorized -= 1  # cores before lanes
    num_parallel = min(num_parallel, len(loops) - num_vectorized)
    outermost = loops[0]
    if num_parallel:
        outermost = _fused(sch, loops[:num_parallel])
        sch.parallel(outermost)
    if num_vectorized:
        lanes = _fused(sch, loops[len(loops) - num_vectorized :])
        sch.vectorize(lanes)
        outermost = lanes if num_vectorized == len(loops) else outermost
    if not spatial:
        _unroll(sch, outermost, asked)


def _fused(sch: Schedule, loops: list[LoopRV]) -> LoopRV:
    return sch.fuse(*loops) if len(loops) > 1 else loops[0]


def _share(sch: Schedule, loops: list[LoopRV], lanes: int) -> None:
    outer, inner = sch.split(_fused(sch, loops), [None, lanes])
    sch.parallel(outer)
    sch.vectorize(inner)


def _unroll(sch: Schedule, loop: LoopRV, asked: _Asked) -> None:
    steps = asked.unroll_explicit or asked.unroll_implicit or 0
    if steps > 0:
        sch.annotate(loop, "pragma_auto_unroll_max_step", steps)
        sch.annotate(loop, "pragma_unroll_explicit", int(asked.unroll_explicit is not None))


def _extent(loop: ForOp) -> int | None:
    return as_index(loop.extent).as_constant()


def _is_free(block: BlockOp, loop: ForOp) -> bool:
    """True for a spatial loop that runs in no special way yet, of a constant extent."""
    plain = loop.kind.value == "serial" and "annotations" not in loop.operation.attributes
    inside = nest.child_blocks(loop)
    spatial = all(loop_kind(b, loop) == "S" for b in inside) and loop_kind(block, loop) == "S"
    return plain and spatial and _extent(loop) is not None


def _is_alone(loop: ForOp) -> bool:
    return len(nest.statements(nest.body_of(loop))) == 1


def _num_parallel(block: BlockOp, loops: list[ForOp], most: int | None) -> int:
    """How many outer loops run in parallel: while all together are not more than `most`."""
    number, product = 0, 1
    if most is None:
        return 0
    for loop in loops:
        if not _is_free(block, loop):
            break
        number += 1
        product *= _extent(loop) or 1
        if product > most or not _is_alone(loop):
            break
    return number if product > 1 else 0


def _is_one_row(block: BlockOp, loops: list[ForOp], asked: _Asked) -> bool:
    """True where all loops together are one walk through memory, of some vectors' length."""
    if asked.parallel is None or asked.vectorize is None:
        return False
    product = prod(_extent(loop) or 0 for loop in loops)
    whole = product > asked.vectorize and product % asked.vectorize == 0
    return whole and _num_walked(block, loops) == len(loops)


def _num_vectorized(block: BlockOp, loops: list[ForOp], most: int | None) -> int:
    """How many inner loops become lanes: those that are one walk through memory, while all together
    are not more than `most`."""
    if most is None:
        return 0
    number = _num_walked(block, loops)
    while number and prod(_extent(loop) or 0 for loop in loops[len(loops) - number :]) > most:
        number -= 1
    lanes = prod(_extent(loop) or 1 for loop in loops[len(loops) - number :])
    return number if lanes > 1 else 0


def _num_walked(block: BlockOp, loops: list[ForOp]) -> int:
    """How many inner loops are one walk through memory in everything that a block accesses."""
    accesses = [*reads_of(block), *writes_of(block)]
    number = 0
    for loop in reversed(loops):
        inner = loops[len(loops) - number - 1 :]
        if not (_is_free(block, loop) and _is_alone(loop)):
            break
        if not all(_steps_through(block, access, inner) for access in accesses):
            break
        number += 1
    return number


def _steps_through(block: BlockOp, access: Access, loops: list[ForOp]) -> bool:
    """Whether an access does not move with the first of some nested loops, or moves as it must for
    all of them to be one walk through memory."""
    step = stride_of(block, access, loops[0])
    if step == 0 or len(loops) == 1:
        return step in (0, 1)
    extents = [_extent(loop) or 0 for loop in loops[1:]]
    return step is not None and step == prod(extents) and stride_of(block, access, loops[-1]) == 1
