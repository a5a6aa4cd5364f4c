"""Products of a matrix and a few vectors, as many as a symbol says: decoding a batch."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import is_element, iterators_of, variables_used
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    get_sblock_info,
    normalize_prim_func,
)
from relax_mlir.dlight.analysis.gemv import get_reduction_expr
from relax_mlir.dlight.base.common_schedules import try_inline
from relax_mlir.dlight.base.utils import (
    annotate_unroll,
    elements_per_thread,
    fit_threads,
    get_extent,
)
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.epilogue import schedule_epilogue
from relax_mlir.dlight.gpu.matmul_form import inline_producers
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.schedule.analysis import reads_of, writes_of

_UNROLL = 256
_OUTPUTS_PER_THREAD = 2


@dataclass(frozen=True)
class _Variables:
    """The variables of a product of a matrix and vectors, those of a kind in the matrix's order."""

    batch: int
    spatial: list[int]
    reduction: list[int]


class LowBatchGEMV(GPUScheduleRule):
    """The vectors are taken `bucket` at a time, with zeros for those that are not there: each
    element of the matrix is loaded once for all of a bucket.

    Applies where one spatial variable has a symbolic extent, and the matrix does not depend on it.
    """

    def __init__(self, bucket: int = 4):
        self.bucket = bucket

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        sch = self.reduction_schedule(func, target)
        if sch is None:
            return None
        infos = normalize_prim_func(sch)
        reductions = [info for info in infos or [] if info.is_reduction()]
        if len(reductions) != 1 or _variables(sch, reductions[0]) is None:
            return None
        block = reductions[0].block_rv
        sch.pad_einsum(block, [1 if isinstance(i.dom, int) else self.bucket
                               for i in reductions[0].iters])  # fmt: skip
        inline_producers(sch, block)
        later = [get_sblock_info(sch, b) for b in sch.get_consumers(block)]
        epilogues = _inline_chain(sch, later)
        if len(epilogues) > 1 or not all(info.is_injective() for info in epilogues):
            return None
        info = get_sblock_info(sch, block)
        variables = _variables(sch, info)
        if variables is None:
            return None
        epilogue = epilogues[0].block_rv if epilogues else None
        self._schedule(sch, target, info, variables, epilogue)
        return sch

    def _schedule(
        self,
        sch: Schedule,
        target: Target,
        info: SBlockInfo,
        variables: _Variables,
        epilogue: BlockRV | None,
    ) -> None:
        batch, s, r = _ordered_loops(sch, info, variables)
        outputs, reducers = _threads(target, get_extent(sch, s), get_extent(sch, r))
        by, vectors = sch.split(batch, factors=[None, self.bucket])
        bx, ty, tile = sch.split(s, factors=[None, outputs, _OUTPUTS_PER_THREAD])
        elements = elements_per_thread(get_extent(sch, r), reducers)
        r, tx, steps = sch.split(r, factors=[None, reducers, elements])
        sch.reorder(by, bx, ty, tx, r, steps, tile, vectors)
        axes = {"blockIdx.y": by, "blockIdx.x": bx, "threadIdx.y": ty, "threadIdx.x": tx}
        for axis, loop in axes.items():
            sch.bind(loop, axis)
        annotate_unroll(sch, r, _UNROLL)
        if epilogue is not None:
            threads = {"threadIdx.y": outputs, "threadIdx.x": reducers}
            schedule_epilogue(sch, info.block_rv, epilogue, bx, threads, 0)


def _threads(target: Target, outputs: int | str, reduced: int | str) -> tuple[int, int]:
    """Threads over outputs and over the reduction."""
    if not isinstance(outputs, int) or target.kind.name not in ("cuda", "nvptx", "rocm"):
        threads = (1, 64)
    elif isinstance(reduced, int) and outputs > reduced:
        threads = (4, 64)
    else:
        threads = (16, 32)
    return fit_threads(target, *threads)


def _variables(sch: Schedule, info: SBlockInfo) -> _Variables | None:
    """The variables of a product of a matrix and a symbolic number of vectors, else None."""
    symbolic = [i for i in info.iters if not isinstance(i.dom, int)]
    if len(symbolic) != 1 or symbolic[0].kind != "S":
        return None
    batch = symbolic[0].var
    with mlir.scope():
        block: BlockOp = sch.get(info.block_rv)
        reads, writes = reads_of(block), writes_of(block)
        if len(writes) != 1 or not all(is_element(a.region) for a in [*reads, *writes]):
            return None
        if get_reduction_expr(block) is None or batch not in variables_used(
            block, writes[0].region
        ):
            return None
        matrices = [a for a in reads if batch not in variables_used(block, a.region)]
        vectors = [a for a in reads if batch in variables_used(block, a.region)]
        static = {i.var for i in info.iters} - {batch}
        whole = [a for a in matrices if variables_used(block, a.region) >= static]
        if (
            not whole
            or not vectors
            or any(variables_used(block, a.region) >= static for a in vectors)
        ):
            return None
        order = iterators_of(block, whole[0])
    if order is None or any(it.lower_factor > 1 for it in order):
        return None
    spatial = [it.var for it in order if info.iters[it.var].kind == "S"]
    reduction = [it.var for it in order if info.iters[it.var].kind == "R"]
    return _Variables(batch, spatial, reduction) if spatial and reduction else None


def _ordered_loops(
    sch: Schedule, info: SBlockInfo, variables: _Variables
) -> tuple[LoopRV, LoopRV, LoopRV]:
    """The loops over vectors, outputs and the reduction."""
    batch = info.iters[variables.batch].loop_rv
    spatial = [info.iters[n].loop_rv for n in variables.spatial]
    reduction = [info.iters[n].loop_rv for n in variables.reduction]
    sch.reorder(batch, *spatial, *reduction)
    return batch, sch.fuse(*spatial), sch.fuse(*reduction)


def _inline_chain(sch: Schedule, infos: list[SBlockInfo]) -> list[SBlockInfo]:
    """What remains of the blocks after a product when they are inlined into each other."""
    if not infos:
        return []
    following = [
        get_sblock_info(sch, b) for info in infos for b in sch.get_consumers(info.block_rv)
    ]
    while following:
        infos += following
        following = [
            get_sblock_info(sch, b) for info in following for b in sch.get_consumers(info.block_rv)
        ]
    return try_inline(sch, infos)
