"""DLight: default schedules for TensorIR functions (TVM's `tvm.dlight`, `tvm.s_tir.dlight`).

`ApplyDefaultSchedule(*rules)` gives every function without a schedule that of the first rule which
accepts it; `gpu.Fallback` accepts every function.
"""

from relax_mlir.dlight import analysis, base, cpu, gpu
from relax_mlir.dlight.analysis import BlockInfo, IterInfo, SBlockInfo, normalize_prim_func
from relax_mlir.dlight.base import (
    ApplyDefaultSchedule,
    ScheduleRule,
    try_inline,
    try_inline_contiguous_spatial,
)

__all__ = [
    "ApplyDefaultSchedule",
    "BlockInfo",
    "IterInfo",
    "SBlockInfo",
    "ScheduleRule",
    "analysis",
    "base",
    "cpu",
    "gpu",
    "normalize_prim_func",
    "try_inline",
    "try_inline_contiguous_spatial",
]
