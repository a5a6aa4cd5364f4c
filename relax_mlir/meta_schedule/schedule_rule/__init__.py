"""Rules that make design spaces."""

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
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import PyScheduleRule, ScheduleRule

__all__ = [
    "AddRFactor",
    "ApplyCustomRule",
    "AutoBind",
    "AutoInline",
    "CrossThreadReduction",
    "InlineConstantScalars",
    "MultiLevelTiling",
    "ParallelizeVectorizeUnroll",
    "PyScheduleRule",
    "RandomComputeLocation",
    "ReuseType",
    "ScheduleRule",
    "create",
]

create = ScheduleRule.create
