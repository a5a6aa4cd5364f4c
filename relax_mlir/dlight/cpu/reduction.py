"""Several reductions over the same rows and what is made of them, on the cores: softmax, layer
normalisation."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dlight.analysis.common_analysis import SBlockInfo, normalize_prim_func
from relax_mlir.dlight.base.utils import annotate_unroll, element_bytes, get_extent
from relax_mlir.dlight.cpu.base import CPUScheduleRule, vector_bits
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, Schedule
from relax_mlir.tir.schedule.analysis import writes_of


class Reduction(CPUScheduleRule):
    """The cores share the rows; within a row each block follows the one before it, spatial ones in
    vectors and reductions a vector's length at a time.

    Applies to functions of several blocks that begin with the same spatial variables, with
    reductions among them and a spatial one at the end.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = Schedule(func, error_render_level="fast")
        infos = normalize_prim_func(sch)
        if infos is None or len(infos) < 2 or not infos[-1].is_injective():
            return None
        leading = min(_leading_spatial(info) for info in infos)
        if leading == 0 or all(info.is_injective() for info in infos):
            return None
        _schedule(sch, infos, leading, vector_bits(target))
        return sch


def _leading_spatial(info: SBlockInfo) -> int:
    kinds = info.dom_kind()
    return len(kinds) - len(kinds.lstrip("S"))


def _schedule(sch: Schedule, infos: list[SBlockInfo], leading: int, bits: int) -> None:
    *earlier, last = infos
    with mlir.scope():
        size = element_bytes(writes_of(sch.get(last.block_rv))[0].buffer)
    lanes = max(bits // (8 * size), 2)
    rows = sch.fuse(*sch.get_loops(last.block_rv)[:leading])
    sch.parallel(rows)
    _vectorize_inner(sch, last.block_rv, lanes)
    for info in reversed(earlier):
        sch.compute_at(info.block_rv, rows, preserve_unit_loops=True)
    for info in earlier:
        if info.is_injective():
            _vectorize_inner(sch, info.block_rv, lanes)
        else:
            _unroll_inner(sch, info.block_rv, lanes)


def _vectorize_inner(sch: Schedule, block: BlockRV, lanes: int) -> None:
    """Vectorize the innermost loop, `lanes` at a time."""
    loops = sch.get_loops(block)
    if len(loops) < 2:
        return
    extent = get_extent(sch, loops[-1])
    if isinstance(extent, int) and extent <= lanes:
        if extent > 1:
            sch.vectorize(loops[-1])
        return
    sch.vectorize(sch.split(loops[-1], factors=[None, lanes])[-1])


def _unroll_inner(sch: Schedule, block: BlockRV, lanes: int) -> None:
    """Let the back end write `lanes` steps of the innermost loop out, and no more."""
    loops = sch.get_loops(block)
    extent = get_extent(sch, loops[-1])
    if len(loops) < 2 or (isinstance(extent, int) and extent <= lanes):
        return
    annotate_unroll(sch, sch.split(loops[-1], factors=[None, lanes])[-1], lanes)
