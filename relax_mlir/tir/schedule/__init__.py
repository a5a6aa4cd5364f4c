"""`tvm.tir.schedule`: schedules of TensorIR functions.  Names are imported on first use: lowering
needs the analyses beside them, not the primitives."""

from typing import TYPE_CHECKING

from relax_mlir.errors import ScheduleError
from relax_mlir.on_demand import names_on_demand

if TYPE_CHECKING:
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

__getattr__ = names_on_demand(
    __name__,
    {
        "index_map": "IndexMap",
        "random_variable": "BlockRV ExprRV LoopRV SBlockRV",
        "schedule": "Schedule",
        "trace": "Instruction Trace",
    },
)
