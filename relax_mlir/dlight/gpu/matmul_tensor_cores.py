"""Matrix products on tensor cores: tiles in shared memory, fragments of 16x16 in registers of
warps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir import mlir
from relax_mlir.dlight.analysis.access import detect_dominant_read
from relax_mlir.dlight.analysis.common_analysis import has_reduction, normalize_prim_func
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.matmul_form import (
    Traits,
    inline_consumers,
    inline_producers,
    normalize_matmul,
    operand_dtypes,
    reduction_block,
)
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule, nest
from relax_mlir.tir.tensor_intrin import cuda, mma

DO_NOT_TENSORIZE = "dlight.do_not_tensorize"
"""Function attribute: keep a product on the CUDA cores."""

MINIMAL_EXTENT = 64
"""Products with a smaller constant extent of rows, columns or the reduction stay on the CUDA
cores."""

_FRAGMENT = 16
_WARP = 32
_LANES = 4
_SCOPE = "shared.dyn"


Layout: TypeAlias = "Callable[[Any, Any], tuple[Any, Any]]"


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

    def intrinsics(self) -> dict[str, str]:
        """The instructions for B as [J, K]."""
        if self.layouts is None:
            return cuda.get_wmma_intrin_group(_SCOPE, _SCOPE, self.factors, self.sums, True)
        return cuda.get_mma_intrin_group(_SCOPE, _SCOPE, self.factors, self.sums, False, True)


_SQUARE = cuda.shared_16x16_to_ldmatrix_32x8_layout
_WIDE = cuda.shared_16x32_to_ldmatrix_32x16_layout

_KINDS = {
    ("float16", "float32"): _Kind("float16", "float32", 16, 4, (16, 8)),
    ("float16", "float16"): _Kind("float16", "float16", 16, 4, (16, 8)),
    ("bfloat16", "float32"): _Kind("bfloat16", "float32", 16, 4, (16, 8), (_SQUARE, _SQUARE)),
    ("int8", "int32"): _Kind("int8", "int32", 32, 1, (32, 16), (_WIDE, _WIDE)),
}
_TF32 = _Kind("float32", "float32", 8, 4, (16, 8), (mma.tf32_rows_layout, mma.tf32_columns_layout))


class MatmulTensorization(GPUScheduleRule):
    """A thread block of 16 warps makes 128x128 elements, each warp 32x32 by fragments of 16x16.

    Applies to float16 with sums of float16 or float32, bfloat16 with sums of float32 and int8 with
    sums of int32, on targets of sm_80 and later, where constant extents are above 64.  With
    `tf32`, products of float32 are taken too, in that precision.
    """

    def __init__(self, tf32: bool = False):
        self.tf32 = tf32

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if sm_version(target) < 80 or DO_NOT_TENSORIZE in func.attrs or not has_reduction(func):
            return None
        sch = Schedule(func, error_render_level="fast")
        if normalize_prim_func(sch) is None:
            return None
        block = reduction_block(sch)
        if block is None:
            return None
        dtypes = operand_dtypes(sch, block)
        if dtypes is None:
            return None
        a, b, c = dtypes
        kinds = _KINDS | ({("float32", "float32"): _TF32} if self.tf32 else {})
        kind = kinds.get((a, c)) if a == b else None
        traits = None if kind is None else normalize_matmul(sch, block)
        if kind is None or traits is None or not is_large(traits):
            return None
        _schedule(sch, block, kind)
        return sch


def sm_version(target: Target) -> int:
    """The number of the target's architecture, 80 for "sm_80" and "sm_80a"; 0 where unknown."""
    digits = str(target.attrs.get("arch", "")).removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() else 0


def is_large(traits: Traits) -> bool:
    """True when no constant extent of rows, columns or the reduction is below the minimum."""
    for kind in "IJK":
        total = 1
        for number, own in enumerate(traits.kinds):
            extent = traits.extents[number]
            total = total * extent if own == kind else total
        if isinstance(total, int) and total <= MINIMAL_EXTENT:
            return False
    return True


def _schedule(sch: Schedule, block: BlockRV, kind: _Kind) -> None:
    sch.pad_einsum(block, [1, 8 * _FRAGMENT, 8 * _FRAGMENT, kind.k_extent * kind.k_fragments])
    batch, i, j, k = sch.get_loops(block)
    (i, i_in), (j, j_in) = (sch.split(loop, [None, _FRAGMENT]) for loop in (i, j))
    k, k_in = sch.split(k, [None, kind.k_extent])
    sch.reorder(i, j, k, i_in, j_in, k_in)
    outer = sch.blockize(i_in)
    i0, i1, i2, i3 = sch.split(i, [None, 1, 4, 2])
    j0, j1, j2, j3 = sch.split(j, [1, None, 4, 2])
    k0, k1 = sch.split(k, [None, kind.k_fragments])
    sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3)
    bx, by, warp = sch.fuse(i0, j0), sch.fuse(i1, j1), sch.fuse(j2, i2)
    axes = {"blockIdx.z": batch, "blockIdx.x": bx, "blockIdx.y": by, "threadIdx.y": warp}
    for axis, loop in axes.items():
        sch.bind(loop, axis)
    for number in (0, 1):
        _fetch(sch, outer, number, k0, kind)
    staged = _use_fragments(sch, block, outer, (k0, k1, warp), kind)
    inline_consumers(sch, staged)
    _, lane, vector = sch.split(sch.fuse(*sch.get_loops(staged)[-2:]), [None, _WARP, _LANES])
    sch.bind(lane, "threadIdx.x")
    sch.vectorize(vector)
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
) -> BlockRV:
    """Let a warp load, multiply and store fragments; the block that then copies the result out."""
    k0, k1, warp = loops
    a, b = (sch.cache_read(outer, number, kind.scopes[number]) for number in (0, 1))
    sch.compute_at(a, k1)
    sch.compute_at(b, k1)
    staged = sch.cache_write(outer, 0, _SCOPE)
    sch.storage_align(staged, 0, -2, 16, 4)
    sums = sch.cache_write(outer, 0, kind.scopes[2])
    sch.reverse_compute_at(sums, warp)
    sch.reverse_compute_at(staged, warp)
    fragments = {
        "load_a": _split_into_fragments(sch, a, kind.k_extent),
        "load_b": _split_into_fragments(sch, b, kind.k_extent),
        "store": _split_into_fragments(sch, sums, _FRAGMENT),
    }
    if kind.layouts is not None:
        places = ((a, "write", *kind.layouts[:1]), (b, "write", *kind.layouts[1:]),
                  (sums, "read", _SQUARE))  # fmt: skip
        for place, access, layout in places:
            columns = _FRAGMENT if place is sums else kind.k_extent
            sch.transform_layout(place, (access, 0), _in_fragments(columns, layout))
    init = sch.get_child_blocks(sch.decompose_reduction(outer, k0))[0]
    fragments |= {"init": sch.get_loops(init)[-2], "compute": sch.get_loops(block)[-3]}
    group = kind.intrinsics()
    for name, loop in fragments.items():
        sch.tensorize(loop, group[name])
    return staged


def _in_fragments(columns: int, layout: Layout) -> Callable[[Any, Any, Any], list[Any]]:
    """The place of an element in registers: batch, fragment, thread, register."""

    def place(s: Any, i: Any, j: Any) -> list[Any]:
        return [s, i // _FRAGMENT, j // columns, *layout(i % _FRAGMENT, j % columns)]

    return place


def _fetch(sch: Schedule, block: BlockRV, number: int, k0: LoopRV, kind: _Kind) -> None:
    """Let the threads of a block bring an operand's tile into shared memory, neighbours what lies
    beside each other in the operand."""
    fetch = sch.cache_read(block, number, _SCOPE)
    sch.compute_at(fetch, k0)
    inline_producers(sch, fetch)
    row, column = sch.get_loops(fetch)[-2:]
    by_rows = _walks_rows_fastest(sch, fetch)
    if by_rows:
        sch.reorder(column, row)
    fused = sch.fuse(*((column, row) if by_rows else (row, column)))
    lanes = 1 if by_rows else _LANES
    _, warp, lane, vector = sch.split(fused, [None, _FRAGMENT, _WARP, lanes])
    sch.bind(lane, "threadIdx.x")
    sch.bind(warp, "threadIdx.y")
    sch.vectorize(vector)
    factor, offset = kind.align
    sch.storage_align(fetch, 0, axis=-2, factor=factor, offset=offset)


def _walks_rows_fastest(sch: Schedule, fetch: BlockRV) -> bool:
    """Whether the elements of a tile's column lie beside each other in memory, as those of B do
    that is no transpose."""
    with mlir.scope():
        op = sch.get(fetch)
        read = detect_dominant_read(op)
        last = None if read is None or not read.region else read.region[-1][0]
        rows = nest.iter_vars(op)[-2]
        return last is not None and last.uses(rows)


def _split_into_fragments(sch: Schedule, block: BlockRV, columns: int) -> LoopRV:
    """Tile a copy by fragments; the loop that begins one."""
    i, j = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(i, [None, _FRAGMENT])
    j0, j1 = sch.split(j, [None, columns])
    sch.reorder(i0, j0, i1, j1)
    return i1
