"""`tvm.tir.schedule`: schedules of TensorIR functions."""

from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.random_variable import BlockRV, ExprRV, LoopRV, SBlockRV
from relax_mlir.tir.schedule.schedule import Schedule
from relax_mlir.tir.schedule.trace import Instruction, Trace

__all__ = [
    "BlockRV",
    "ExprRV",
    "IndexMap",
    "Instruction",
    "LoopRV",
    "SBlockRV",
    "Schedule",
    "ScheduleError",
    "Trace",
]
