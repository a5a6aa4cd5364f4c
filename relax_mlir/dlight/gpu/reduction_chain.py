"""Several reductions one after the other, products among them: attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relax_mlir import mlir
from relax_mlir.dlight.analysis.common_analysis import (
    SBlockInfo,
    get_root_block,
    get_sblock_info,
    is_associative,
    normalize_prim_func,
)
from relax_mlir.dlight.base.common_schedules import try_inline
from relax_mlir.dlight.base.utils import max_threads_per_block
from relax_mlir.dlight.gpu.base import GPUScheduleRule
from relax_mlir.dlight.gpu.fallback import spread
from relax_mlir.dlight.gpu.matmul import schedule_matmul
from relax_mlir.dlight.gpu.matmul_form import (
    detect_iter_traits,
    inline_consumers,
    reduction_blocks,
)
from relax_mlir.dlight.gpu.matmul_tensor_cores import schedule_on_tensor_cores
from relax_mlir.dlight.gpu.reduction import normalize_nest, schedule_inner_reduction
from relax_mlir.errors import ScheduleError
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import BlockRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import init_of

_TakeConsumers: TypeAlias = "Callable[[Schedule, BlockRV], None]"
_Product: TypeAlias = "Callable[[Schedule, BlockRV, Target, _TakeConsumers], bool]"


class ReductionChain(GPUScheduleRule):
    """Every reduction is a kernel of its own: products as `Matmul` makes them, on tensor cores
    where those take them, which compute what is before them while they fetch it; others by a block
    of threads for each result.

    Applies to functions of at least two reductions, one of them a product, whose other blocks are
    spatial.
    """

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        for product in (_on_tensor_cores, schedule_matmul):
            try:
                sch = self._chain(func, target, product)
            except ScheduleError:
                continue
            if sch is not None:
                return sch
        return None

    def _chain(self, func: PrimFunc, target: Target, product: _Product) -> Schedule | None:
        sch = self.reduction_schedule(func, target)
        if sch is None or normalize_prim_func(sch) is None:
            return None
        reductions = reduction_blocks(sch)
        if reductions is None or len(reductions) < 2:
            return None
        products = [block for block in reductions if _is_product(sch, block)]
        if not products:
            return None
        _schedule_products(sch, products, target, product)
        _schedule_others(sch, target)
        return sch


def _on_tensor_cores(
    sch: Schedule, block: BlockRV, target: Target, take_consumers: _TakeConsumers
) -> bool:
    """Schedule a product on tensor cores, or where they do not take it on the CUDA cores."""
    return schedule_on_tensor_cores(sch, block, target, take_consumers) or schedule_matmul(
        sch, block, target, take_consumers
    )


def _is_product(sch: Schedule, block: BlockRV) -> bool:
    with mlir.scope():
        return detect_iter_traits(sch.get(block)) is not None


def _schedule_products(
    sch: Schedule, products: list[BlockRV], target: Target, product: _Product
) -> None:
    """The last first: it computes, while it fetches, what is between it and the ones before."""
    for block in reversed(products):
        is_last = not _feeds_reduction(sch, block)
        product(sch, block, target, inline_consumers if is_last else _take_copy)


def _feeds_reduction(sch: Schedule, block: BlockRV) -> bool:
    """Whether a reduction reads what follows from a block's result."""
    for consumer in sch.get_consumers(block):
        with mlir.scope():
            reduces = init_of(sch.get(consumer)) is not None
        if reduces or _feeds_reduction(sch, consumer):
            return True
    return False


def _take_copy(sch: Schedule, block: BlockRV) -> None:
    """Let a product write the buffer of the function, not the one in its own form."""
    (copy,) = sch.get_consumers(block)
    sch.reverse_compute_inline(copy)


def _schedule_others(sch: Schedule, target: Target) -> None:
    """Schedule the blocks that are not bound to threads by now."""
    threads = max_threads_per_block(target)
    for info in try_inline(sch, _unbound(sch)):
        loops = None
        if info.is_reduction() and is_associative(sch, info):
            loops = normalize_nest(sch, info)
        if loops is not None and loops.is_inner_reduction:
            schedule_inner_reduction(sch, target, info.block_rv, loops)
        else:
            spread(sch, get_sblock_info(sch, info.block_rv), threads)


def _unbound(sch: Schedule) -> list[SBlockInfo]:
    found: list[SBlockInfo] = []
    for block in sch.get_child_blocks(get_root_block(sch)):
        with mlir.scope():
            loops = nest.loops_around(sch.get(block))
            is_bound = any(nest.thread_axis(loop) is not None for loop in loops)
        if not is_bound:
            found.append(get_sblock_info(sch, block))
    return found
