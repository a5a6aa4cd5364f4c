"""Several reductions over the same rows, and what is made of their results: softmax, layer
normalisation, variance."""

from __future__ import annotations

from math import prod

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import variables_used
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    is_associative,
    normalize_prim_func,
)
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import (
    annotate_unroll,
    element_bytes,
    get_extent,
    max_shared_memory_per_block,
    max_threads_per_block,
)
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.epilogue import set_scope_of_writes
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import reads_of, writes_of
from relax_mlir.tir.schedule.reduction import loop_kinds

ROW_THREADS = 256
_UNROLL = 256


class GeneralReduction(GPUScheduleRule):
    """One thread block a row: its threads reduce the row as often as the function does, the
    results lie in shared memory, and the last block, which is spatial, is computed from them.

    A row is a value of the variables by which the last block reads what was reduced.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        sch = self.reduction_schedule(func, target)
        if sch is None:
            return None
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or not is_reduction_of_rows(infos):
            return None
        if not all(is_associative(sch, info) for info in infos if info.is_reduction()):
            return None
        threads = min(ROW_THREADS, max_threads_per_block(target))
        bx, _ = schedule_rows(sch, infos, threads, vector=1)
        return sch if _shared_bytes(sch, bx) <= max_shared_memory_per_block(target) else None


def is_reduction_of_rows(infos: list[SBlockInfo]) -> bool:
    """True for blocks of which the last is spatial and some before it are reductions, spatial
    variables first."""
    *earlier, last = infos
    if not last.is_injective() or not any(i.is_reduction() for i in earlier):
        return False
    for info in earlier:
        kinds = info.dom_kind()
        if info.is_reduction() and kinds.strip("S") != "R" * kinds.count("R"):
            return False
        if not info.is_reduction() and not info.is_injective():
            return False
    return all(i.iters for i in earlier)


def schedule_rows(
    sch: Schedule, infos: list[SBlockInfo], threads: int, vector: int
) -> tuple[LoopRV, LoopRV]:
    """Schedule the last block by rows, the others within its rows; the loops over the thread
    blocks and, of the last block, over its threads.

    The last block's threads take `vector` elements at a time.
    """
    *earlier, last = infos
    bx, inner = _split_rows(sch, earlier, last)
    if vector > 1:
        r, tx, lanes = sch.split(inner, factors=[None, threads, vector])
        sch.vectorize(lanes)
    else:
        r, tx = sch.split(inner, factors=[None, threads])
    sch.reorder(tx, r)
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    annotate_unroll(sch, r, _UNROLL)
    for info in reversed(earlier):
        set_scope_of_writes(sch, info.block_rv, "shared")
        sch.compute_at(info.block_rv, bx, preserve_unit_loops=True)
        _bind_inner(sch, info, threads)
    return bx, tx


def _split_rows(
    sch: Schedule, earlier: list[SBlockInfo], last: SBlockInfo
) -> tuple[LoopRV, LoopRV]:
    """The loop over the rows of the last block, and that over a row."""
    rows = _row_variables(sch, [info.block_rv for info in earlier], last.block_rv)
    outer = [i.loop_rv for i in last.iters if i.var in rows or i.dom == 1]
    inner = [i.loop_rv for i in last.iters if not (i.var in rows or i.dom == 1)]
    if not inner:
        inner = [sch.add_unit_loop(last.block_rv)]
    if not outer:
        outer = [sch.add_unit_loop(inner[0])]
    sch.reorder(*outer, *inner)
    return sch.fuse(*outer), sch.fuse(*inner)


def _row_variables(sch: Schedule, earlier: list[BlockRV], last: BlockRV) -> set[int]:
    """The variables by which the last block reads what the earlier ones write."""
    with mlir.scope():
        made = {access.buffer for block in earlier for access in writes_of(sch.get(block))}
        block: BlockOp = sch.get(last)
        read = [access for access in reads_of(block) if access.buffer in made]
        return set().union(*(variables_used(block, access.region) for access in read))


def _bind_inner(sch: Schedule, info: SBlockInfo, threads: int) -> None:
    """Let the threads share the reduction loops of a block in a row, or all of a spatial one's."""
    loops = sch.get_loops(info.block_rv)[1:]
    count = info.dom_kind().count("R") if info.is_reduction() else len(loops)
    r, tx = sch.split(sch.fuse(*loops[len(loops) - count :]), factors=[None, threads])
    sch.reorder(tx, r)
    sch.bind(tx, "threadIdx.x")
    annotate_unroll(sch, r, _UNROLL)


def _shared_bytes(sch: Schedule, bx: LoopRV) -> float:
    """The shared memory of a row: what each block but the last makes there; infinite for symbolic
    sizes."""
    total = 0.0
    for block in sch.get_child_blocks(bx)[:-1]:
        spatial = _spatial_extents(sch, block)
        if spatial is None:
            return float("inf")
        with mlir.scope():
            sizes = [element_bytes(access.buffer) for access in writes_of(sch.get(block))]
        total += prod(spatial) * sum(sizes)
    return total


def _spatial_extents(sch: Schedule, block: BlockRV) -> list[int] | None:
    """The extents of a block's spatial loops within a row, None when one is symbolic."""
    loops = sch.get_loops(block)[1:]
    with mlir.scope():
        kinds = loop_kinds(sch.get(block), [sch.get(loop) for loop in loops])
    extents = [get_extent(sch, loop) for loop in loops]
    spatial = [e for e, kind in zip(extents, kinds, strict=True) if kind <= {"S"}]
    found = [e for e in spatial if isinstance(e, int)]
    return found if len(found) == len(spatial) else None
