"""Matrix products on a GPU: tiles in shared memory, micro tiles in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.dlight.analysis.common_analysis import has_reduction, normalize_prim_func
from relax_mlir.dlight.base.utils import annotate_min_blocks, annotate_unroll
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.matmul_form import (
    inline_consumers,
    inline_producers,
    normalize_matmul,
    operand_dtypes,
    reduction_block,
)
from relax_mlir.dlight.gpu.matmul_register_tiles import register_tiles, schedule_register_tiles
from relax_mlir.dlight.gpu.matmul_tensor_cores import MatmulTensorization
from relax_mlir.dlight.gpu.matmul_tiles import blocks_of
from relax_mlir.errors import ScheduleError
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, LoopRV, Schedule

_WITH_WIDE_ACCESSES = ("cuda", "nvptx", "rocm")


class Matmul(GPUScheduleRule):
    """A thread block makes a tile of the product, each thread a micro tile of it in registers; the
    threads fetch the operands' tiles into shared memory together, a slice of the reduction at a
    time.  What is computed elementwise before and after is done while fetching and writing back.

    Where the target has tensor cores for the operands, they make the product.
    """

    @dataclass(frozen=True)
    class Config:
        """Threads of a block, virtual threads, elements of a thread and of a slice."""

        block_size_x: int = 8
        block_size_y: int = 8
        vthread_x: int = 1
        vthread_y: int = 1
        micro_size_x: int = 4
        micro_size_y: int = 4
        micro_size_k: int = 8
        vector_size: int = 1
        unroll: int = 256  # 0 means no unroll
        use_shared: bool = True
        storage_align: bool = False
        inner_x: bool = False

    def get_configs(self, target: Target) -> Config:
        """The sizes for a target."""
        if target.kind.name in _WITH_WIDE_ACCESSES:
            # LLVM writes out these loops by itself; asked to, it does so to more than pays.
            return Matmul.Config(
                block_size_y=16, micro_size_k=16, vector_size=2, unroll=0, storage_align=True
            )
        return Matmul.Config()

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if not has_reduction(func):
            return None
        by_tensor_cores = _on_tensor_cores(func, target)
        if by_tensor_cores is not None:
            return by_tensor_cores
        sch = Schedule(func, error_render_level="fast")
        if normalize_prim_func(sch) is None:
            return None
        block = reduction_block(sch)
        if block is None or not schedule_matmul(sch, block, target):
            return None
        return sch


def _on_tensor_cores(func: PrimFunc, target: Target) -> Schedule | None:
    try:
        return MatmulTensorization().apply(func, target, False)
    except ScheduleError:
        return None


def schedule_matmul(
    sch: Schedule,
    block: BlockRV,
    target: Target,
    take_consumers: Callable[[Schedule, BlockRV], None] = inline_consumers,
) -> bool:
    """Schedule a product in any disguise on the CUDA cores; False for a block that is none.

    `take_consumers` inlines into the block that writes the result what follows it.
    """
    dtypes = operand_dtypes(sch, block)
    traits = None if dtypes is None else normalize_matmul(sch, block)
    if dtypes is None or traits is None:
        return False
    has_vectors = target.kind.name in _WITH_WIDE_ACCESSES
    tiles = register_tiles(traits, dtypes) if has_vectors else None
    if tiles is not None:
        schedule_register_tiles(sch, block, tiles, take_consumers)
    else:
        schedule_product(sch, block, Matmul().get_configs(target), take_consumers)
    return True


def schedule_product(
    sch: Schedule,
    block: BlockRV,
    config: Matmul.Config,
    take_consumers: Callable[[Schedule, BlockRV], None],
) -> None:
    """Schedule a product in the form that `normalize_matmul` makes.

    `take_consumers` inlines into the block that writes the result what follows it.
    """
    rows = config.vthread_x * config.block_size_x * config.micro_size_x
    columns = config.vthread_y * config.block_size_y * config.micro_size_y
    sch.pad_einsum(block, [1, rows, columns, config.micro_size_k])
    batch, x, y, k = sch.get_loops(block)
    by, vy, ty, yi = sch.split(
        y, [None, config.vthread_y, config.block_size_y, config.micro_size_y]
    )
    bx, vx, tx, xi = sch.split(
        x, [None, config.vthread_x, config.block_size_x, config.micro_size_x]
    )
    ko, ki = sch.split(k, factors=[None, config.micro_size_k])
    inner = [yi, xi] if config.inner_x else [xi, yi]
    sch.reorder(batch, by, bx, vy, vx, ty, tx, ko, ki, *inner)
    axes = blocks_of(sch, batch, {"blockIdx.y": by, "blockIdx.x": bx})
    axes |= {"threadIdx.y": ty, "threadIdx.x": tx}
    if config.vthread_x * config.vthread_y > 1:
        axes |= {"vthread.y": vy, "vthread.x": vx}
    for axis, loop in axes.items():
        sch.bind(loop, axis)
    _vectorize(sch, inner[-1], config)
    if config.unroll > 0:
        annotate_unroll(sch, tx, config.unroll, explicit=False)
    annotate_min_blocks(sch, tx)
    write_back = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(write_back, tx, preserve_unit_loops=True)
    _vectorize(sch, sch.get_loops(write_back)[-1], config)
    if config.use_shared:
        for number in (0, 1):
            inline_producers(sch, _cooperative_fetch(sch, block, number, ko, config))
    else:
        inline_producers(sch, block)
    take_consumers(sch, write_back)
    sch.decompose_reduction(block, ko)


def _vectorize(sch: Schedule, loop: LoopRV, config: Matmul.Config) -> None:
    size = config.micro_size_x if config.inner_x else config.micro_size_y
    if config.vector_size > 1 and size % config.vector_size == 0:
        _, lanes = sch.split(loop, [None, config.vector_size])
        sch.vectorize(lanes)


def _cooperative_fetch(
    sch: Schedule, block: BlockRV, number: int, ko: LoopRV, config: Matmul.Config
) -> BlockRV:
    """Let the threads of a block bring an operand's tile into shared memory, vector by vector."""
    fetch = sch.cache_read(block, number, "shared")
    rank = len(sch.get_loops(fetch))
    sch.compute_at(fetch, ko, preserve_unit_loops=True)
    ty, tx, _, lanes = sch.split(
        sch.fuse(*sch.get_loops(fetch)[-rank:]),
        factors=[config.block_size_y, config.block_size_x, None, config.vector_size],
    )
    sch.vectorize(lanes)
    sch.bind(ty, "threadIdx.y")
    sch.bind(tx, "threadIdx.x")
    if config.storage_align:
        sch.storage_align(fetch, 0, axis=1, factor=8, offset=config.vector_size)
    return fetch
