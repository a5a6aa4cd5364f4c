"""Root mean square normalisation: rows divided by the root of the mean of their squares."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    normalize_prim_func,
)
from relax_mlir.dlight.analysis.gemv import get_reduction_expr
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.general_reduction import is_reduction_of_rows, schedule_rows
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule, nest

_THREADS = {"cuda": 512, "nvptx": 512, "opencl": 256}
_LANES = 8
_ROOTS = ("math.rsqrt", "math.sqrt")


class RMSNorm(GPUScheduleRule):
    """One thread block a row: the threads add up squares, and write 8 elements at a time."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        sch = self.reduction_schedule(func, target)
        if sch is None:
            return None
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) != 2 or not is_reduction_of_rows(infos):
            return None
        if not _adds_squares(sch, infos[0]) or not _takes_a_root(sch, infos[1]):
            return None
        threads = min(_THREADS.get(target.kind.name, 64), max_threads_per_block(target))
        row = infos[1].iters[-1].dom
        vector = _LANES if isinstance(row, int) and row % _LANES == 0 else 1
        while threads > 32 and isinstance(row, int) and threads * vector // 2 >= row:
            threads //= 2
        schedule_rows(sch, infos, threads, vector)
        return sch


def _adds_squares(sch: Schedule, info: SBlockInfo) -> bool:
    with mlir.scope():
        added = get_reduction_expr(sch.get(info.block_rv))
        owner = None if added is None else added.owner
        if owner is None or isinstance(owner, ir.Block) or owner.name != "arith.mulf":
            return False
        left, right = (_loaded(operand) for operand in owner.operands)
        return left is not None and left == right


def _loaded(value: ir.Value) -> tuple[ir.Value, ...] | None:
    """The buffer and indices that a value is loaded from, also through a widening."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name == "arith.extf":
        return _loaded(owner.operands[0])
    return tuple(owner.operands) if owner.name == "memref.load" else None


def _takes_a_root(sch: Schedule, info: SBlockInfo) -> bool:
    with mlir.scope():
        return any(op.operation.name in _ROOTS for op in nest.descend(sch.get(info.block_rv)))
