"""Rules that inline blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import variables_used
from relax_mlir.errors import ScheduleError
from relax_mlir.meta_schedule.block_facts import (
    annotation,
    has_consumers,
    is_pure_spatial,
    is_spatial,
    op_of,
)
from relax_mlir.meta_schedule.schedule_rule.schedule_rule import ScheduleRule
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import BlockRV, Schedule, nest
from relax_mlir.tir.schedule.analysis import is_output, reads_of, writes_of

__all__ = ["AutoInline", "InlineConstantScalars"]

_CONDITIONS = ("scf.if", "arith.select")


class AutoInline(ScheduleRule):
    """Inlines a block into those that read it, or into the one that it reads.

    In functions with reductions only blocks that the switches allow: without conditions
    (`disallow_if_then_else`), without some operators (`disallow_op`, such as "tir.exp"), and whose
    reads go through each element once (`require_injective`) in order (`require_ordered`).  The
    annotation `meta_schedule.inline_rule = "disable"` keeps a block.
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ) -> None:
        self.into_producer = into_producer
        self.into_consumer = into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective = require_injective
        self.require_ordered = require_ordered
        self.disallow_op = list(disallow_op or ())

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = op_of(sch, block)
        if op is None:
            return [sch]
        with mlir.scope():
            constant = self.inline_const_tensor and not reads_of(op)
            if len(writes_of(op)) != 1 or not is_spatial(op):
                return [sch]
        if not constant and not self._allows(sch, block, op):
            return [sch]
        wanted = (self.into_consumer or constant) and has_consumers(sch, block)
        inlined = wanted and try_primitive(lambda: sch.compute_inline(block))
        if not inlined and self.into_producer:
            try_primitive(lambda: sch.reverse_compute_inline(block))
        return [sch]

    def _allows(self, sch: Schedule, block: BlockRV, op: BlockOp) -> bool:
        if annotation(sch, block, "meta_schedule.inline_rule") == "disable":
            return False
        if is_pure_spatial(sch):
            return True
        with mlir.scope():
            names = [inner.operation.name for inner in nest.descend(op)]
            if self.disallow_if_then_else and any(name in _CONDITIONS for name in names):
                return False
            wanted = {f"math.{name.rpartition('.')[2]}" for name in self.disallow_op}
            if wanted.intersection(names):
                return False
            return self._reads_in_order(op)

    def _reads_in_order(self, block: BlockOp) -> bool:
        """Whether each read goes through its elements once, and in order where that counts."""
        numbers = {value: n for n, value in enumerate(nest.iter_vars(block))}
        written = variables_used(block, writes_of(block)[0].region)
        for read in reads_of(block):
            order = [n for offset, _ in read.region for n in _numbers(offset.leaves(), numbers)]
            # A vector read along one axis of a matrix is a broadcast, which TVM inlines as well.
            if self.require_injective and (len(set(order)) != len(order) or set(order) - written):
                return False
            if self.require_ordered and order != sorted(order):
                return False
        return True


def _numbers(values: Sequence[ir.Value], numbers: dict[ir.Value, int]) -> list[int]:
    return [numbers[value] for value in values if value in numbers]


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that compute a scalar from nothing."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        op = op_of(sch, block)
        if op is None:
            return [sch]
        with mlir.scope():
            writes = writes_of(op)
            scalar = not reads_of(op) and len(writes) == 1 and not writes[0].region
            wanted = scalar and not is_output(op)
        if wanted:
            try_primitive(lambda: sch.compute_inline(block))
        return [sch]


def try_primitive(primitive: Callable[[], None]) -> bool:
    """Whether a primitive was applied, rather than refused."""
    try:
        primitive()
    except ScheduleError:
        return False
    return True
