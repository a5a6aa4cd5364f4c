"""Schedules of tensor expressions as TVM had them until 0.18: `te.create_schedule`.

A `Schedule` has a `Stage` for each operation and records what its user asks for: loops split,
fused and reordered, stages computed in loops of others, and so on.  Lowering makes the PrimFunc of
the operations (`te.create_prim_func`) and applies the record to it as primitives of a
`tir.Schedule`, which check what they do.

    relations.py   split, fuse and reorder, and what axes are of the loops made of them
    stage.py       Stage, and what may be asked of one operation
    schedule.py    Schedule: all stages; cache_read, cache_write, rfactor
    caching.py, rfactor.py   operations that these put into a schedule
    auto_inline.py inlining by what operations are
    group.py       stages that move together
    graph.py       operations and their inputs
    operations.py  what stages compute in the end
    tensor_intrin.py, tensorize.py   instructions as operations and statements
    storage.py     storage scopes by the threads around
    replay.py      steps as primitives;  lower.py  the PrimFunc
"""

from relax_mlir.te.schedule.auto_inline import (
    AutoInlineBroadcast,
    AutoInlineElemWise,
    AutoInlineInjective,
)
from relax_mlir.te.schedule.group import Group
from relax_mlir.te.schedule.lower import lower_schedule
from relax_mlir.te.schedule.relations import Fuse, Singleton, Split
from relax_mlir.te.schedule.schedule import Schedule, create_schedule
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin, decl_tensor_intrin
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import IterVar

__all__ = [
    "AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective", "Buffer", "Fuse", "Group",
    "IterVar", "Schedule", "Singleton", "Split", "Stage", "TensorIntrin", "create_schedule",
    "decl_tensor_intrin", "lower_schedule",
]  # fmt: skip
