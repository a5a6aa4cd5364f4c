"""The rules of each kind of target, as in TVM."""

from __future__ import annotations

from relax_mlir.meta_schedule.schedule_rule.add_rfactor import AddRFactor
from relax_mlir.meta_schedule.schedule_rule.apply_custom_rule import ApplyCustomRule
from relax_mlir.meta_schedule.schedule_rule.auto_bind import AutoBind
from relax_mlir.meta_schedule.schedule_rule.auto_inline import AutoInline, InlineConstantScalars
from relax_mlir.meta_schedule.schedule_rule.cross_thread_reduction import CrossThreadReduction
from relax_mlir.meta_schedule.schedule_rule.multi_level_tiling import MultiLevelTiling, ReuseType
from relax_mlir.meta_schedule.schedule_rule.parallel_vectorize_unroll import (
    ParallelizeVectorizeUnroll,
)
from relax_mlir.meta_schedule.schedule_rule.random_compute_location import RandomComputeLocation
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule

__all__ = ["cuda", "llvm"]


def llvm() -> list[ScheduleRule]:
    """Rules for CPUs."""
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(
            into_producer=False,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=True,
            require_injective=True,
            require_ordered=True,
            disallow_op=["tir.exp"],
        ),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling(
            structure="SSRSRS",
            max_innermost_factor=64,
            reuse_write=ReuseType(req="may", levels=[1, 2], scope="global"),
        ),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16,
            max_vectorize_extent=64,
            unroll_max_steps=[0, 16, 64, 512],
            unroll_explicit=True,
        ),
        RandomComputeLocation(),
    ]


def cuda() -> list[ScheduleRule]:
    """Rules for GPUs."""
    return [
        ApplyCustomRule(),
        MultiLevelTiling(
            structure="SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 4, 8],
            reuse_read=ReuseType(req="must", levels=[4], scope="shared"),
            reuse_write=ReuseType(req="must", levels=[3], scope="local"),
        ),
        InlineConstantScalars(),
        AutoInline(
            into_producer=True,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=False,
            require_injective=False,
            require_ordered=False,
        ),
        CrossThreadReduction(thread_extents=[4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1,
            max_vectorize_extent=-1,
            unroll_max_steps=[0, 16, 64, 512, 1024],
            unroll_explicit=True,
        ),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]
