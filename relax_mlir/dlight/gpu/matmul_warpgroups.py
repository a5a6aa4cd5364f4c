"""Matrix products on tensor cores by warpgroups (`wgmma`, sm_90a): four warps multiply tiles that
they read from shared memory, and hold only the sums in registers.

A block of two groups makes 128x256 elements, of four 256x256 where sums take half a register
each: the fewer blocks, the less comes from L2.  Slices of 64 products are fetched while earlier
ones are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dlight.base.utils import annotate_min_blocks, annotate_unroll, get_bytes
from relax_mlir.dlight.gpu.matmul_form import (
    Traits,
    inline_producers,
    walks_rows_fastest,
)
from relax_mlir.dlight.gpu.matmul_tiles import (
    WARP,
    blocks_of,
    in_fragments,
    largest_that_fill,
    spread_over_warps,
    write_back_by_warps,
)
from relax_mlir.target import Target
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.tensor_intrin import cuda, wgmma
from relax_mlir.tir.tensor_intrin.tensor_cores import SHORT

__all__ = ["WARPGROUP_TILES", "WarpgroupTiles", "has_warpgroups", "schedule_on_warpgroups"]

_ARCH = "sm_90a"
_SCOPE = "shared.dyn"
_WARP_ROWS = 16
_WARPS = 4
_LANES = 8
"""Elements of 16 bits in a chunk of 16 bytes."""

_REGISTERS, _REGISTER_BYTES = 65536, 4
_OTHER_REGISTERS = 56
"""A multiprocessor's, and what a thread needs besides its sums: addresses."""

_STAGES = 2
"""Slices that are on their way while one is multiplied."""


@dataclass(frozen=True)
class WarpgroupTiles:
    """Warpgroups of a block along the rows, of 64 rows each, and the columns of all."""

    groups: int
    columns: int

    @property
    def rows(self) -> int:
        return self.warps * _WARP_ROWS

    @property
    def warps(self) -> int:
        return self.groups * _WARPS

    def fits(self, sums: str) -> bool:
        """Whether a thread's sums leave it enough registers of a multiprocessor's for the rest."""
        of_sums = self.columns // 2 * get_bytes(sums) // _REGISTER_BYTES
        return of_sums + _OTHER_REGISTERS <= _REGISTERS // (self.warps * WARP)


WARPGROUP_TILES = tuple(
    WarpgroupTiles(*sizes) for sizes in ((4, 256), (2, 256), (2, 128), (1, 128), (1, 64))
)


def has_warpgroups(target: Target, factors: str, sums: str, traits: Traits) -> bool:
    """Whether a target multiplies these dtypes by warpgroups, and the extents are constants, which
    buffers in registers need."""
    known = all(isinstance(extent, int) for extent in traits.extents)
    return (
        str(target.attrs.get("arch", "")) == _ARCH
        and known
        and (SHORT.get(factors, ""), sums) in wgmma.PRODUCTS
    )


def schedule_on_warpgroups(
    sch: Schedule,
    block: BlockRV,
    dtypes: tuple[str, str],
    traits: Traits,
    take_consumers: Callable[[Schedule, BlockRV], None],
    tiles: WarpgroupTiles | None = None,
) -> None:
    """Schedule a product in the form that `normalize_matmul` makes, with factors and sums of
    `dtypes`.

    `take_consumers` inlines into the block that writes the result what follows it; `tiles` are the
    largest of which there are enough, unless given.
    """
    possible = [choice for choice in WARPGROUP_TILES if choice.fits(dtypes[1])]
    tiles = tiles or largest_that_fill(traits, possible) or possible[-1]
    sch.pad_einsum(block, [1, tiles.rows, tiles.columns, wgmma.ROW_ELEMENTS])
    batch, *loops = sch.get_loops(block)
    sizes = (_WARP_ROWS, tiles.columns, wgmma.ROW_ELEMENTS)
    (i, i_in), (j, j_in), (k, k_in) = (
        sch.split(loop, [None, size]) for loop, size in zip(loops, sizes, strict=True)
    )
    i, warp = sch.split(i, [None, tiles.warps])
    sch.reorder(j, i, warp, k, i_in, j_in, k_in)
    outer = sch.blockize(i_in)
    axes = blocks_of(sch, batch, {"blockIdx.y": j, "blockIdx.x": i}) | {"threadIdx.y": warp}
    for axis, loop in axes.items():
        sch.bind(loop, axis)
    # Sums are registers only where all loops over them are written out, not those over slices.
    for loop, depth in ((warp, 256), (k, 0)):
        annotate_unroll(sch, loop, depth, explicit=False)
    annotate_min_blocks(sch, warp)
    _fetch(sch, outer, 0, k, tiles)
    by_columns = _fetch(sch, outer, 1, k, tiles)
    staged = _use_registers(sch, block, outer, (k, warp), dtypes, tiles, not by_columns)
    take_consumers(sch, staged)
    write_back_by_warps(sch, staged)
    # Slices that are on their way need no thread to wait for them.
    sch.annotate(k, "software_pipeline_stage", [0, 0, _STAGES])
    sch.annotate(k, "software_pipeline_order", [0, 1, 2])
    sch.annotate(k, "software_pipeline_async_stages", [0])


def _fetch(sch: Schedule, block: BlockRV, number: int, k: LoopRV, tiles: WarpgroupTiles) -> bool:
    """Let the threads of a block bring an operand's tile into shared memory, in rows of 128 bytes;
    True when those are along B's columns, as they are in the operand."""
    fetch = sch.cache_read(block, number, _SCOPE)
    sch.compute_at(fetch, k)
    inline_producers(sch, fetch)
    by_rows = walks_rows_fastest(sch, fetch)
    keeps_order = by_rows and number == 1
    if keeps_order:
        size = wgmma.ROW_ELEMENTS
        sch.transform_layout(fetch, ("write", 0), lambda s, j, k: [s, j // size, k, j % size])
    lanes = _LANES if keeps_order or not by_rows else 1
    spread_over_warps(sch, fetch, tiles.warps, lanes, by_rows=by_rows)
    return keeps_order


def _use_registers(
    sch: Schedule,
    block: BlockRV,
    outer: BlockRV,
    loops: tuple[LoopRV, LoopRV],
    dtypes: tuple[str, str],
    tiles: WarpgroupTiles,
    transposed: bool,
) -> BlockRV:
    """Let a warp multiply and store its sums; the block that then copies the result out."""
    k, warp = loops
    factors, sums = (SHORT[dtype] for dtype in dtypes)
    columns = tiles.columns
    staged = sch.cache_write(outer, 0, _SCOPE)
    held = sch.cache_write(outer, 0, "warp")
    sch.reverse_compute_at(held, warp)
    sch.reverse_compute_at(staged, warp)
    layout = in_fragments(columns, cuda.shared_16x16_to_ldmatrix_32x8_layout)
    sch.transform_layout(held, ("read", 0), layout)
    init = sch.get_child_blocks(sch.decompose_reduction(outer, k))[0]
    trans = "_trans_b" if transposed else ""
    sch.tensorize(sch.get_loops(init)[-2], f"wgmma_fill_16x{columns}_{sums}")
    multiply = f"wgmma_m64n{columns}k{wgmma.ROW_ELEMENTS}_{factors}{factors}{sums}{trans}"
    sch.tensorize(sch.get_loops(block)[-3], multiply)
    stored = sch.blockize(sch.get_loops(held)[-2])
    sch.storage_align(stored, 0, -2, 16, 8)
    sch.tensorize(stored, f"wgmma_store_16x{columns}_{sums}_shared_dyn")
    return staged
