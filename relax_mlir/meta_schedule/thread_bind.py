"""Binding the loops of a block to the blocks and threads of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import mlir
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.meta_schedule.block_facts import loop_extent, loop_kind, op_of
from relax_mlir.tir.schedule import BlockRV, ExprRV, LoopRV, Schedule, nest

__all__ = ["bind_block_thread_idx", "factor_sampler"]

Factor = Callable[[int], "int | ExprRV"]
"""Gives the threads of a block, at most as many as it is told."""


def factor_sampler(sch: Schedule, thread_extents: Sequence[int]) -> Factor:
    """Draws the number of threads from those of some extents that are allowed."""

    def factor(most: int) -> int | ExprRV:
        allowed = [extent for extent in thread_extents if extent <= most]
        if len(allowed) < 2:
            return allowed[0] if allowed else most
        return sch.sample_categorical(allowed, [1.0 / len(allowed)] * len(allowed))

    return factor


def bind_block_thread_idx(
    sch: Schedule, block: BlockRV, max_threadblocks: int, max_threads: int, factor: Factor
) -> None:
    """Run the spatial loops around a block, as far as it is alone in them, on the blocks and
    threads of a GPU; where a loop is bound to threads already, on its blocks.

    A block without such a loop gets one.
    """
    loops = sch.get_loops(block)
    axes = _axes(sch, loops)
    if any(axis.startswith("blockIdx") for axis in axes):
        return
    outer = _spatial_alone(sch, block, loops, axes)
    if not outer:
        outer = [sch.add_unit_loop(loops[0] if loops else block)]
    fused = sch.fuse(*outer) if len(outer) > 1 else outer[0]
    if any(axis.startswith("threadIdx") for axis in axes):
        sch.bind(fused, "blockIdx.x")
        return
    extent = loop_extent(sch, fused)
    if extent is not None and extent <= max_threads:
        blocks, threads = sch.split(fused, [None, extent])
    elif extent is None or extent <= max_threadblocks * max_threads:
        blocks, threads = sch.split(fused, [None, factor(max_threads)])
    else:
        rest, blocks, threads = sch.split(fused, [None, max_threadblocks, factor(max_threads)])
        sch.reorder(blocks, threads, rest)
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")


def _axes(sch: Schedule, loops: Sequence[LoopRV]) -> list[str]:
    """The thread axis of each loop, "" for one that is not bound."""
    with mlir.scope():
        return [nest.thread_axis(sch.get(loop)) or "" for loop in loops]


def _spatial_alone(
    sch: Schedule, block: BlockRV, loops: Sequence[LoopRV], axes: Sequence[str]
) -> list[LoopRV]:
    """The outermost loops that only drive spatial variables, and hold one loop each but for the
    last one."""
    found: list[LoopRV] = []
    with mlir.scope():
        op = op_of(sch, block)
        assert op is not None, "the root block is in no loop"
        for loop, axis in zip(loops, axes, strict=True):
            place: ForOp = sch.get(loop)
            if axis or place.kind.value != "serial":
                break
            if any(loop_kind(inner, place) != "S" for inner in nest.child_blocks(place)):
                break
            found.append(loop)
            if len(nest.statements(nest.body_of(place))) > 1:
                break
    return found
