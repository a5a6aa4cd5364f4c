"""What the stages of a schedule compute in the end: operations on each other's tensors, those
that are inlined inside of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.te.schedule.graph import on_tensors, reading
from relax_mlir.te.schedule.stage import INLINE, Stage
from relax_mlir.te.tensor import ComputeOp, Operation, Tensor
from relax_mlir.tir.expr import PrimExpr, ProducerLoad, Var, substitute

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule

__all__ = ["FinalOperations"]


class FinalOperations:
    """The operation of each stage, made when it is first asked for."""

    def __init__(self, schedule: Schedule):
        self._schedule = schedule
        self._made: dict[Stage, Operation] = {}

    def tensor(self, given: Tensor) -> Tensor:
        """The tensor that stands for one of the schedule's; others stay."""
        stage = self._schedule.stage_map.get(given.op)
        return given if stage is None else self.operation(stage).output(given.value_index)

    def operation(self, stage: Stage) -> Operation:
        """The operation of a stage."""
        if stage not in self._made:
            op = self._with_inlined(stage.op)
            self._made[stage] = on_tensors(op, self.tensor)
        return self._made[stage]

    def _with_inlined(self, op: Operation) -> Operation:
        """The operation with the elements of inlined stages computed where they are read."""
        if not isinstance(op, ComputeOp):
            return op
        bodies = [reading(body, self._element) for body in op.body]
        if all(new is old for new, old in zip(bodies, op.body, strict=True)):
            return op
        return ComputeOp(op.name, op.axis, bodies, op.tag, op.attrs)

    def _element(self, read: ProducerLoad) -> PrimExpr | None:
        tensor: Tensor = read.producer
        stage = self._schedule.stage_map.get(tensor.op)
        if stage is None or stage.attach_type != INLINE:
            return None
        made = self.operation(stage)
        assert isinstance(made, ComputeOp), "compute_inline takes a te.compute"
        values: dict[Var, PrimExpr] = {
            axis.var: index for axis, index in zip(made.axis, read.indices, strict=True)
        }
        return substitute(made.body[tensor.value_index], values)
