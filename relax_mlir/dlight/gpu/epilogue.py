"""What follows a reduction, in the thread blocks that make its results."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dlight.analysis.access import is_broadcast_epilogue
from relax_mlir.dlight.base.utils import get_extent
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import writes_of


def schedule_epilogue(
    sch: Schedule,
    block: BlockRV,
    epilogue: BlockRV,
    bx: LoopRV,
    threads: dict[str, int],
    results: int,
) -> None:
    """Run an epilogue in the thread block `bx` that makes `results` results of `block`, one
    a thread (0 when it is otherwise).

    `threads` are the axes of the block and their extents; the last walks over the results and the
    others reduce.  The thread that has a result goes on with it; where the epilogue reads one
    several times, all threads do.
    """
    sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
    around = sch.get_loops(epilogue)
    depth = next(n for n, loop in enumerate(around) if sch.get(loop) == sch.get(bx))
    spatial = sch.fuse(*around[depth + 1 :])
    private = not is_broadcast_epilogue(sch, block, epilogue)
    private = private and get_extent(sch, spatial) == results
    set_scope_of_writes(sch, block, "local" if private else "shared")
    if private:
        _go_on_in_own_thread(sch, spatial, threads, results)
        return
    # Neighbouring elements for neighbouring threads.
    axes = sorted(threads, reverse=True)
    _, *loops = sch.split(spatial, factors=[None, *(threads[axis] for axis in axes)])
    for axis, loop in zip(axes, loops, strict=True):
        sch.bind(loop, axis)


def _go_on_in_own_thread(
    sch: Schedule, spatial: LoopRV, threads: dict[str, int], results: int
) -> None:
    """Let the thread that has a result compute the epilogue of it: the first along the axes that
    reduce."""
    *reducing, own = threads
    if results == 1:
        reducing.append(own)
    else:
        sch.bind(spatial, own)
    for axis in reducing:
        first = sch.split(sch.add_unit_loop(spatial), factors=[None, threads[axis]])[-1]
        sch.bind(first, axis)


def set_scope_of_writes(sch: Schedule, block: BlockRV, scope: str) -> None:
    """Let the buffers a block writes lie in a storage scope."""
    with mlir.scope():
        count = len(writes_of(sch.get(block)))
    for number in range(count):
        sch.set_scope(block, number, scope)
