"""Matrix products on tensor cores: tiles in shared memory, fragments of 16x16 in registers of
warps.

A warp of 4x4 fragments multiplies for longer than it reads them from shared memory, and a block of
128x256 elements for longer than its operands come from L2; smaller ones are for products that have
too few blocks otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir import mlir
from relax_mlir.dlight.analysis.common_analysis import has_reduction, normalize_prim_func
from relax_mlir.dlight.base.utils import annotate_min_blocks, annotate_unroll, get_bytes
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.matmul_form import (
    Traits,
    detect_iter_traits,
    extent_of,
    inline_consumers,
    inline_producers,
    normalize_matmul,
    operand_dtypes,
    reduction_block,
    walks_rows_fastest,
)
from relax_mlir.dlight.gpu.matmul_tiles import (
    Layout,
    blocks_of,
    in_fragments,
    largest_that_fill,
    spread_over_warps,
    write_back_by_warps,
)
from relax_mlir.dlight.gpu.matmul_warpgroups import has_warpgroups, schedule_on_warpgroups
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule
from relax_mlir.tir.tensor_intrin import cuda, mma

__all__ = ["WARP_TILES", "MatmulTensorization", "WarpTiles", "schedule_on_tensor_cores"]

DO_NOT_TENSORIZE = "dlight.do_not_tensorize"
"""Function attribute: keep a product on the CUDA cores."""

MINIMAL_EXTENT = 64
"""Products with a smaller constant extent of rows, columns or the reduction stay on the CUDA
cores."""

_FRAGMENT = 16
_SCOPE = "shared.dyn"
_VECTOR_BYTES = 16
_PADDING_OF_SUMS = 8
"""Elements after a row of sums: the rows of a fragment lie in different banks."""


@dataclass(frozen=True)
class WarpTiles:
    """Warps of a block along rows and columns, and fragments of a warp along them."""

    warps: tuple[int, int]
    fragments: tuple[int, int]

    @property
    def rows(self) -> int:
        return self.warps[0] * self.fragments[0] * _FRAGMENT

    @property
    def columns(self) -> int:
        return self.warps[1] * self.fragments[1] * _FRAGMENT

    @property
    def shared_bytes(self) -> int:
        """Of the sums on their way out; the operands' slices take less."""
        return self.rows * (self.columns + _PADDING_OF_SUMS) * 4


WARP_TILES = (
    WarpTiles((2, 4), (4, 4)),
    WarpTiles((2, 2), (4, 4)),
    WarpTiles((2, 2), (4, 2)),
    WarpTiles((2, 2), (2, 2)),
)


@dataclass(frozen=True)
class _Kind:
    """What the fragments are of, their extent of the reduction, how many a warp takes of a slice,
    and the padding of tiles; `layouts` of A and B in registers where the fragments are those of
    mma.sync, else they are WMMA's."""

    factors: str
    sums: str
    k_extent: int
    k_fragments: int
    align: tuple[int, int]
    layouts: tuple[Layout, Layout] | None = None

    @property
    def scopes(self) -> tuple[str, str, str]:
        """Where the fragments of A, B and the sums lie."""
        if self.layouts is not None:
            return "warp", "warp", "warp"
        return "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"

    @property
    def has_both_orders(self) -> bool:
        """Whether B may lie by rows or by columns: `ldmatrix` transposes elements of 16 bits, WMMA
        those of any."""
        return self.layouts is None or get_bytes(self.factors) == 2

    def intrinsics(self, columns_first: bool) -> dict[str, str]:
        """The instructions for B as [J, K], or with `columns_first` as [K, J]."""
        trans = not columns_first
        if self.layouts is None:
            return cuda.get_wmma_intrin_group(_SCOPE, _SCOPE, self.factors, self.sums, trans)
        return cuda.get_mma_intrin_group(_SCOPE, _SCOPE, self.factors, self.sums, False, trans)


_SQUARE = cuda.shared_16x16_to_ldmatrix_32x8_layout
_WIDE = cuda.shared_16x32_to_ldmatrix_32x16_layout

_KINDS = {
    ("float16", "float32"): _Kind("float16", "float32", 16, 2, (16, 8)),
    ("float16", "float16"): _Kind("float16", "float16", 16, 2, (16, 8)),
    ("bfloat16", "float32"): _Kind("bfloat16", "float32", 16, 2, (16, 8)),
    ("int8", "int32"): _Kind("int8", "int32", 32, 1, (32, 16), (_WIDE, _WIDE)),
}
_OF_SYMBOLIC_SIZES = {("int8", "int32"): _Kind("int8", "int32", 16, 4, (32, 16))}
"""In place of those whose layouts of registers only buffers of constant sizes can have.  Slices are
of as many bytes as those of float16; ptxas spills around shorter ones."""

_TF32 = _Kind("float32", "float32", 8, 2, (16, 4), (mma.tf32_rows_layout, mma.tf32_columns_layout))


class MatmulTensorization(GPUScheduleRule):
    """A thread block of four or eight warps makes up to 128x256 elements, each warp up to 64x64 by
    fragments of 16x16.

    Applies to float16 with sums of float16 or float32, bfloat16 with sums of float32 and int8 with
    sums of int32, on targets of sm_80 and later, where constant extents are at least 64.  With
    `tf32`, products of float32 are taken too, in that precision.
    """

    def __init__(self, tf32: bool = False):
        self.tf32 = tf32

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if DO_NOT_TENSORIZE in func.attrs or not has_reduction(func):
            return None
        sch = Schedule(func, error_render_level="fast")
        if normalize_prim_func(sch) is None:
            return None
        block = reduction_block(sch)
        if block is None or not schedule_on_tensor_cores(sch, block, target, tf32=self.tf32):
            return None
        return sch


def schedule_on_tensor_cores(
    sch: Schedule,
    block: BlockRV,
    target: Target,
    take_consumers: Callable[[Schedule, BlockRV], None] = inline_consumers,
    *,
    tf32: bool = False,
    tiles: WarpTiles | None = None,
) -> bool:
    """Schedule a product in any disguise on tensor cores; False, with the schedule as it was, for a
    block that is none, or none that they take.

    `take_consumers` inlines into the block that writes the result what follows it; `tiles` are the
    largest of which there are enough, unless given.
    """
    dtypes = operand_dtypes(sch, block)
    if dtypes is None or sm_version(target) < 80:
        return False
    with mlir.scope():
        traits = detect_iter_traits(sch.get(block))
    kind = None if traits is None else _kind_of(dtypes, traits, tf32)
    if kind is None or traits is None or not is_large(traits):
        return False
    normalize_matmul(sch, block)
    if tiles is None and has_warpgroups(target, kind.factors, kind.sums, traits):
        schedule_on_warpgroups(sch, block, (kind.factors, kind.sums), traits, take_consumers)
        return True
    _schedule(sch, block, kind, tiles or _tiles_for(traits, target), take_consumers)
    return True


def _kind_of(dtypes: tuple[str, str, str], traits: Traits, tf32: bool) -> _Kind | None:
    a, b, c = dtypes
    kinds = _KINDS | ({("float32", "float32"): _TF32} if tf32 else {})
    kind = kinds.get((a, c)) if a == b else None
    is_known = all(isinstance(extent, int) for extent in traits.extents)
    if kind is None or kind.layouts is None or is_known:
        return kind
    return _OF_SYMBOLIC_SIZES.get((a, c))


def _tiles_for(traits: Traits, target: Target) -> WarpTiles:
    most = DeviceLimits.of(target).max_shared_bytes
    possible = [tiles for tiles in WARP_TILES if tiles.shared_bytes <= most]
    return largest_that_fill(traits, possible) or possible[-1]


def sm_version(target: Target) -> int:
    """The number of the target's architecture, 80 for "sm_80" and "sm_80a"; 0 where unknown."""
    digits = str(target.attrs.get("arch", "")).removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() else 0


def is_large(traits: Traits) -> bool:
    """True when no constant extent of rows, columns or the reduction is below the minimum."""
    extents = [extent_of(traits, kind) for kind in "IJK"]
    return not any(isinstance(x, int) and x < MINIMAL_EXTENT for x in extents)


def _schedule(
    sch: Schedule,
    block: BlockRV,
    kind: _Kind,
    tiles: WarpTiles,
    take_consumers: Callable[[Schedule, BlockRV], None],
) -> None:
    sch.pad_einsum(block, [1, tiles.rows, tiles.columns, kind.k_extent * kind.k_fragments])
    batch, i, j, k = sch.get_loops(block)
    (i, i_in), (j, j_in) = (sch.split(loop, [None, _FRAGMENT]) for loop in (i, j))
    k, k_in = sch.split(k, [None, kind.k_extent])
    sch.reorder(i, j, k, i_in, j_in, k_in)
    outer = sch.blockize(i_in)
    i0, i1, i2 = sch.split(i, [None, tiles.warps[0], tiles.fragments[0]])
    j0, j1, j2 = sch.split(j, [None, tiles.warps[1], tiles.fragments[1]])
    k0, k1 = sch.split(k, [None, kind.k_fragments])
    sch.reorder(j0, i0, j1, i1, k0, k1, i2, j2)
    warp = sch.fuse(j1, i1)
    axes = blocks_of(sch, batch, {"blockIdx.y": j0, "blockIdx.x": i0}) | {"threadIdx.y": warp}
    for axis, loop in axes.items():
        sch.bind(loop, axis)
    # Fragments are in registers only where all loops over them are written out, which those over
    # slices need not be.
    for loop, depth in ((warp, 256), (k0, 0), (k1, 256)):
        annotate_unroll(sch, loop, depth, explicit=False)
    annotate_min_blocks(sch, warp)
    warps = tiles.warps[0] * tiles.warps[1]
    columns_first = [_fetch(sch, outer, number, k0, kind, warps) for number in (0, 1)][1]
    intrinsics = kind.intrinsics(columns_first)
    staged = _use_fragments(sch, block, outer, (k0, k1, warp), kind, intrinsics)
    take_consumers(sch, staged)
    write_back_by_warps(sch, staged)
    # The next slice's tiles are on their way while a slice is multiplied.
    sch.annotate(k0, "software_pipeline_stage", [0, 0, 1])
    sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
    sch.annotate(k0, "software_pipeline_async_stages", [0])


def _use_fragments(
    sch: Schedule,
    block: BlockRV,
    outer: BlockRV,
    loops: tuple[LoopRV, LoopRV, LoopRV],
    kind: _Kind,
    intrinsics: dict[str, str],
) -> BlockRV:
    """Let a warp load, multiply and store fragments; the block that then copies the result out."""
    k0, k1, warp = loops
    a, b = (sch.cache_read(outer, number, kind.scopes[number]) for number in (0, 1))
    sch.compute_at(a, k1)
    sch.compute_at(b, k1)
    staged = sch.cache_write(outer, 0, _SCOPE)
    sums = sch.cache_write(outer, 0, kind.scopes[2])
    sch.reverse_compute_at(sums, warp)
    sch.reverse_compute_at(staged, warp)
    fragments = {
        "load_a": _split_into_fragments(sch, a, kind.k_extent),
        "load_b": _split_into_fragments(sch, b, kind.k_extent),
    }
    if kind.layouts is not None:
        places = ((a, "write", *kind.layouts[:1]), (b, "write", *kind.layouts[1:]),
                  (sums, "read", _SQUARE))  # fmt: skip
        for place, access, layout in places:
            columns = _FRAGMENT if place is sums else kind.k_extent
            sch.transform_layout(place, (access, 0), in_fragments(columns, layout))
    init = sch.get_child_blocks(sch.decompose_reduction(outer, k0))[0]
    fragments |= {"init": sch.get_loops(init)[-2], "compute": sch.get_loops(block)[-3]}
    for name, loop in fragments.items():
        sch.tensorize(loop, intrinsics[name])
    stored = sch.blockize(_split_into_fragments(sch, sums, _FRAGMENT))
    sch.storage_align(stored, 0, -2, 16, _PADDING_OF_SUMS)
    sch.tensorize(stored, intrinsics["store"])
    return staged


def _fetch(sch: Schedule, block: BlockRV, number: int, k0: LoopRV, kind: _Kind, warps: int) -> bool:
    """Let the threads of a block bring an operand's tile into shared memory, neighbours what lies
    beside each other in the operand.

    True when the tile's columns, which are its rows in the product, lie beside each other there
    too: for B, where the instructions take either order."""
    fetch = sch.cache_read(block, number, _SCOPE)
    sch.compute_at(fetch, k0)
    inline_producers(sch, fetch)
    by_rows = walks_rows_fastest(sch, fetch)
    keeps_order = by_rows and number == 1 and kind.has_both_orders
    if keeps_order:
        sch.transform_layout(fetch, ("write", 0), lambda s, j, k: [s, k, j])
    lanes = _VECTOR_BYTES // get_bytes(kind.factors) if keeps_order or not by_rows else 1
    spread_over_warps(sch, fetch, warps, lanes, by_rows=by_rows)
    factor, offset = kind.align
    sch.storage_align(fetch, 0, axis=-2, factor=factor, offset=offset)
    return keeps_order


def _split_into_fragments(sch: Schedule, block: BlockRV, columns: int) -> LoopRV:
    """Tile a copy by fragments; the loop that begins one."""
    i, j = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(i, [None, _FRAGMENT])
    j0, j1 = sch.split(j, [None, columns])
    sch.reorder(i0, j0, i1, j1)
    return i1
