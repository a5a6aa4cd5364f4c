"""A nest of a stage as an intrinsic of te."""

from __future__ import annotations

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin
from relax_mlir.tir.expr import IterVar
from relax_mlir.tir.schedule import Schedule as TirSchedule
from relax_mlir.tir.schedule.random_variable import LoopRV

__all__ = ["Loops", "tensorize"]

Loops = dict[IterVar, LoopRV]
"""The loop that each loop of a stage is in the function."""


def tensorize(
    schedule: TirSchedule,
    stage: Stage,
    block: str,
    loops: Loops,
    axis: IterVar,
    intrin: TensorIntrin,
) -> None:
    """Compute the nest from a loop down by the intrinsic.

    What starts a reduction goes before the reduction loops around, or before the nest; it is the
    intrinsic's own start if that has one.  Raises ScheduleError when the nest computes something
    else, or a reduction goes on outside of it and the intrinsic cannot go on with one.
    """
    if not stage.op.reduce_axis:
        schedule.tensorize(loops[axis], intrin.registered("body"))
        return
    leaves = stage.leaf_iter_vars
    around = [a for a in leaves[: leaves.index(axis)] if a.iter_type == IterVar.CommReduce]
    has_parts = intrin.reduce_init is not None and intrin.reduce_update is not None
    if around and not has_parts:
        raise ScheduleError(
            f"tensorize: {around[0].var.name} reduces outside of {axis.var.name}, and "
            f"{intrin.name} is only the whole reduction",
            hint="let the intrinsic give (whole, start, update)",
        )
    start = schedule.decompose_reduction(block, loops[around[0] if around else axis])
    schedule.tensorize(loops[axis], intrin.registered("update" if has_parts else "body"))
    if has_parts:
        inner = schedule.get_loops(start)[-len(intrin.op.axis) :]
        schedule.tensorize(inner[0], intrin.registered("init"))
