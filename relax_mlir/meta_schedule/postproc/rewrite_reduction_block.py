"""Initialisation of reductions in loops of its own."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import loop_kind, op_of
from relax_mlir.meta_schedule.postproc.postproc import Postproc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import init_of

__all__ = ["RewriteReductionBlock"]


class RewriteReductionBlock(Postproc):
    """Decomposes each reduction before the outermost loop that is not spatial: there its init runs
    once for each element.  False where that is refused."""

    def apply(self, sch: Schedule) -> bool:
        for name in _reductions(sch):
            block = sch.get_sblock(name)
            loop = _first_reduction_loop(sch, block)
            if loop is None:
                continue
            try:
                sch.decompose_reduction(block, loop)
            except ScheduleError:
                return False
        return True


def _reductions(sch: Schedule) -> list[str]:
    with mlir.scope():
        functions = sch.state.prim_functions().values()
        blocks = [b for f in functions for b in nest.blocks_of(f) if init_of(b) is not None]
        return [b.sym_name.value for b in blocks if not _is_bound_to_threads(b)]


def _is_bound_to_threads(block: BlockOp) -> bool:
    """True for a reduction that threads make together, which the back end combines."""
    loops = nest.loops_around(block)
    bound = [loop for loop in loops if (nest.thread_axis(loop) or "").startswith("threadIdx")]
    return any(loop_kind(block, loop) == "R" for loop in bound)


def _first_reduction_loop(sch: Schedule, block: BlockRV) -> LoopRV | None:
    loops = sch.get_loops(block)
    with mlir.scope():
        op = op_of(sch, block)
        assert op is not None
        kinds = [loop_kind(op, sch.get(loop)) for loop in loops]
    return next((loop for loop, kind in zip(loops, kinds, strict=True) if kind != "S"), None)
