"""What rules are made of: the rule, the pass that applies rules, steps that many rules share."""

from relax_mlir.dlight.base.common_schedules import try_inline, try_inline_contiguous_spatial
from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.dlight.base.transform import ApplyDefaultSchedule
from relax_mlir.dlight.base.utils import (
    auto_vectorize,
    get_bytes,
    get_extent,
    max_threads_per_block,
    suggest_threads_per_block,
)

__all__ = [
    "ApplyDefaultSchedule",
    "ScheduleRule",
    "auto_vectorize",
    "get_bytes",
    "get_extent",
    "max_threads_per_block",
    "suggest_threads_per_block",
    "try_inline",
    "try_inline_contiguous_spatial",
]
