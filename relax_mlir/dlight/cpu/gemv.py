"""Products of a matrix and a vector on the cores."""

from __future__ import annotations

from relax_mlir.dlight.analysis.common_analysis import normalize_prim_func
from relax_mlir.dlight.analysis.gemv import is_gemv, normalize
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import annotate_unroll, get_extent
from relax_mlir.dlight.cpu.base import CPUScheduleRule
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, Schedule

_UNROLL = 256


class GEMV(CPUScheduleRule):
    """Outputs in tiles: the cores share the tiles, the lanes of vectors the outputs of one.

    Applies where the matrix's fastest variable is one of the reduction.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = Schedule(func, error_render_level="fast")
        infos = try_inline_contiguous_spatial(sch, normalize_prim_func(sch))
        if not infos or len(infos) > 2 or (len(infos) == 2 and not infos[1].is_injective()):
            return None
        info = infos[0]
        if len(info.iters) not in (2, 3) or is_gemv(sch, info) is None:
            return None
        if not normalize(sch, info):
            return None
        _schedule(sch, info.block_rv)
        return sch


def _schedule(sch: Schedule, block: BlockRV) -> None:
    batch, s, r, c = sch.get_loops(block)
    sizes = [get_extent(sch, loop) for loop in (batch, s, r, c)]
    outputs, reduced = _product(sizes[:2]), _product(sizes[2:])
    if outputs is None or reduced is None:
        tile_s, tile_r = 64, 64
    else:
        tile_s, tile_r = (128, 64) if outputs > reduced else (64, 128)
    outer, lanes = sch.split(s, factors=[None, tile_s])
    step, _ = sch.split(r, factors=[None, tile_r])
    sch.vectorize(lanes)
    sch.parallel(outer)
    annotate_unroll(sch, step, _UNROLL)


def _product(extents: list[int | str]) -> int | None:
    first, second = extents
    return first * second if isinstance(first, int) and isinstance(second, int) else None
