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
    # Neighbouring elements for neighbouring threads, unless a result belongs to a thread: then the
    # indices that reduce are zero.
    axes = (
        threads
        if private or "threadIdx.y" not in threads
        else {axis: threads[axis] for axis in ("threadIdx.y", "threadIdx.x")}
    )
    _, *loops = sch.split(spatial, factors=[None, *axes.values()])
    for axis, loop in zip(axes, loops, strict=True):
        sch.bind(loop, axis)


def set_scope_of_writes(sch: Schedule, block: BlockRV, scope: str) -> None:
    """Let the buffers a block writes lie in a storage scope."""
    with mlir.scope():
        count = len(writes_of(sch.get(block)))
    for number in range(count):
        sch.set_scope(block, number, scope)
