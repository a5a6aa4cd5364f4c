"""Copies in which the fastest index of the input is not that of the output."""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    has_reduction,
    normalize_prim_func,
)
from relax_mlir.dlight.base.common_schedules import try_inline_contiguous_spatial
from relax_mlir.dlight.base.utils import annotate_unroll
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.errors import ScheduleError
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, Schedule, nest
from relax_mlir.tir.schedule.body import stores_in
from relax_mlir.tir.schedule.index import as_index

_TILES = {"cuda": (8, 16, 256), "nvptx": (8, 16, 256), "rocm": (8, 16, 256), "opencl": (8, 16, 64)}
"""Target kind -> threads along the input's fastest index, along the output's, unroll depth."""


class Transpose(GPUScheduleRule):
    """A tile goes through shared memory, so that both the loads and the stores of neighbouring
    threads are neighbours.  Other indices are blockIdx.z."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if has_reduction(func):
            return None
        sch = Schedule(func, error_render_level="fast")
        infos = normalize_prim_func(sch)
        if not infos or not all(info.is_injective() for info in infos):
            return None
        found = [(n, axes) for n, info in enumerate(infos) if (axes := _axes(sch, info))]
        if not found:
            return None
        position, axes = found[-1]
        info = infos[position]
        for after in reversed(infos[position + 1 :]):
            sch.reverse_compute_inline(after.block_rv)
        prologue = try_inline_contiguous_spatial(sch, infos[: max(position - 1, 0)])
        if prologue:
            return None
        before = infos[position - 1].block_rv if position else None
        _schedule(sch, info, axes, _TILES.get(target.kind.name, (4, 8, 64)), before)
        return sch


def _axes(sch: Schedule, info: SBlockInfo) -> tuple[int, int] | None:
    """The variables that step fastest through input and output of a transposition."""
    with mlir.scope():
        block: BlockOp = sch.get(info.block_rv)
        stores = stores_in(block)
        load = stores[0].operands[0].owner if len(stores) == 1 else None
        if load is None or isinstance(load, ir.Block) or load.name != "memref.load":
            return None
        variables = nest.iter_vars(block)
        written = [as_index(v).as_leaf() for v in list(stores[0].operands)[2:]]
        read = [as_index(v).as_leaf() for v in list(load.operands)[1:]]
        if len(written) < 2 or set(written) != set(read) or written[-1] == read[-1]:
            return None
        if any(v is None or v not in variables for v in written) or len(set(written)) < 2:
            return None
        positions = [variables.index(v) for v in (read[-1], written[-1]) if v is not None]
    return positions[0], positions[1]


def _schedule(
    sch: Schedule,
    info: SBlockInfo,
    axes: tuple[int, int],
    tile: tuple[int, int, int],
    prologue: BlockRV | None,
) -> None:
    rows, columns, unroll = tile
    block = info.block_rv
    i, j = (info.iters[axis].loop_rv for axis in axes)
    others = [it.loop_rv for it in info.iters if it.var not in axes]
    bi, ti = sch.split(i, factors=[None, rows])
    bj, tj = sch.split(j, factors=[None, columns])
    sch.reorder(*others, bi, bj, ti, tj)
    if others:
        sch.bind(sch.fuse(*others), "blockIdx.z")
    sch.bind(bi, "blockIdx.y")
    sch.bind(bj, "blockIdx.x")
    sch.bind(ti, "threadIdx.y")
    sch.bind(tj, "threadIdx.x")
    tile_read = sch.cache_read(block, 0, "shared")
    sch.compute_at(tile_read, bj)
    loops = sch.get_loops(tile_read)[2 + bool(others) :]
    _, ty, tx = sch.split(sch.fuse(*loops), factors=[None, rows, columns])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    sch.storage_align(tile_read, 0, axis=-2, factor=32, offset=1)
    annotate_unroll(sch, bi, unroll, explicit=False)
    if prologue is not None:
        try:
            sch.compute_inline(prologue)
        except ScheduleError:
            sch.reverse_compute_inline(prologue)
