"""Postprocessors that reject schedules."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from relax_mlir import mlir
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.meta_schedule.postproc.postproc import Postproc
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import Schedule, nest
from relax_mlir.tir.schedule.index import as_index

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["DisallowDynamicLoop", "VerifyGPUCode"]


class DisallowDynamicLoop(Postproc):
    """Rejects schedules with a loop whose extent is not a constant."""

    def apply(self, sch: Schedule) -> bool:
        with mlir.scope():
            return all(as_index(loop.extent).is_constant for loop in _loops(sch))


class VerifyGPUCode(Postproc):
    """Rejects schedules with more threads than a block may have, and such with blocks outside of
    kernels.  What needs too much shared memory is refused when it is built."""

    def __init__(self) -> None:
        self._max_threads = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.target is not None:
            self._max_threads = max_threads_per_block(context.target)

    def apply(self, sch: Schedule) -> bool:
        with mlir.scope():
            functions = list(sch.state.prim_functions().values())
            tops = [op for f in functions for op in nest.statements(nest.body_of(f))]
            nests = [op for op in tops if not isinstance(op, AllocBufferOp)]
            return all(self._fits(op) for op in nests)

    def _fits(self, top: ir.OpView) -> bool:
        loops = [op for op in [top, *nest.descend(top)] if isinstance(op, ForOp)]
        axes = {nest.thread_axis(loop): as_index(loop.extent).as_constant() for loop in loops}
        threads = [n or 1 for axis, n in axes.items() if (axis or "").startswith("threadIdx")]
        bound = any((axis or "").startswith("blockIdx") for axis in axes)
        return bound and (self._max_threads == -1 or prod(threads) <= self._max_threads)


def _loops(sch: Schedule) -> list[ForOp]:
    functions = sch.state.prim_functions().values()
    return [op for f in functions for op in nest.descend(f) if isinstance(op, ForOp)]
