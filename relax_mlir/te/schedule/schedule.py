"""`create_schedule` and `Schedule`: the stages of tensor expressions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ScheduleError
from relax_mlir.te.schedule import caching
from relax_mlir.te.schedule.graph import inputs_of, on_tensors, sorted_operations
from relax_mlir.te.schedule.group import Group
from relax_mlir.te.schedule.rfactor import factored
from relax_mlir.te.schedule.stage import Stage
from relax_mlir.te.tensor import Operation, Tensor
from relax_mlir.tir.expr import IterVar

__all__ = ["Schedule", "create_schedule"]


def create_schedule(ops: Operation | Tensor | Sequence[Operation | Tensor]) -> Schedule:
    """A schedule of the operations and of all that they need, in which nothing is changed yet.

    `relax_mlir.lower(s, args)` applies it, `relax_mlir.build(s, args, target)` also compiles.
    """
    given = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    return Schedule([operation_of(op) for op in given])


def operation_of(key: Any) -> Operation:
    """The operation of a tensor, or an operation itself.  Raises ScheduleError for others."""
    op = key.op if isinstance(key, Tensor) else key
    if not isinstance(op, Operation):
        raise ScheduleError(f"a te.Tensor or an operation is expected, given {key!r}")
    return op


class Schedule:
    """How tensor expressions are computed: a `Stage` for each operation, `s[C]`.

    `outputs` are the operations that it was made for, `stages` all stages, inputs first,
    `stage_map` the stages by operation (also by those that cache_write and the like replaced).
    """

    def __init__(self, outputs: Sequence[Operation]):
        self.outputs = list(dict.fromkeys(outputs))
        self.stages: list[Stage] = []
        self.stage_map: dict[Operation, Stage] = {}
        self.groups: list[Group] = []
        for op in sorted_operations(self.outputs):
            self.stages.append(Stage(op, op in self.outputs))
            self.stage_map[op] = self.stages[-1]

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """The stage that computes a tensor.  Raises ScheduleError if there is none."""
        op = operation_of(key)
        if op not in self.stage_map:
            names = ", ".join(stage.op.name for stage in self.stages)
            raise ScheduleError(
                f"{op.name} is not in the schedule; its stages are {names}",
                hint="a schedule knows the operations below its outputs",
            )
        return self.stage_map[op]

    def normalize(self) -> Schedule:
        """The schedule: its loops begin at 0 already."""
        return self

    def copy(self) -> Schedule:
        """An independent schedule of the same operations."""
        return copy.deepcopy(self, _shared_parts(self))

    def current(self, tensor: Tensor) -> Tensor:
        """The tensor as the stage computes it now."""
        return self[tensor].op.output(tensor.value_index)

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """The stages between inputs (without them, unless `include_inputs`) and outputs, to be
        computed at one place."""
        made = Group.between(self, as_list(outputs), as_list(inputs), include_inputs)
        self.groups.append(made)
        return made

    # -- rewriting operations ---------------------------------------------------------------

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Let the readers read a copy of a tensor in a storage scope; the copy."""
        cache = caching.copy_of(self.current(tensor), scope)
        source = self[tensor]
        found = [self[reader] for reader in as_list(readers)]
        for stage in found:
            self._require_reads(stage, tensor)
        for stage in found:

            def other(read: Tensor) -> Tensor:
                same = self.stage_map.get(read.op) is source
                return cache if same and read.value_index == tensor.value_index else read

            self._rewrite(stage, on_tensors(stage.op, other), keep=True)
        first = min(self.stages.index(stage) for stage in found)
        self._insert(cache.op, first).scope = scope
        return cache

    def _require_reads(self, stage: Stage, tensor: Tensor) -> None:
        read = {self.stage_map.get(t.op) for t in inputs_of(stage.op)}
        if self[tensor] not in read:
            raise ScheduleError(f"cache_read: {stage.op.name} does not read {tensor.name}")

    def cache_write(self, tensor: Tensor | Sequence[Tensor], scope: str) -> Any:
        """Compute a tensor in a storage scope, and copy it from there; what is computed there.

        Call it before the stage's loops are changed.  Of a list, all outputs of one operation.
        """
        tensors = as_list(tensor)
        stage = self[tensors[0]]
        if any(self[t] is not stage for t in tensors):
            raise ScheduleError("cache_write: the tensors are outputs of several operations")
        cache, copied = caching.computed_in(stage, scope)
        at = self.stages.index(stage)
        self._rewrite(stage, copied)
        self._insert(cache, at).scope = scope
        outputs = [cache.output(t.value_index) for t in tensors]
        return outputs if isinstance(tensor, (list, tuple)) else outputs[0]

    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Give each iteration of a reduction loop a partial result; the tensor of these, with the
        loop as its dimension number `factor_axis` (a list of them of a tuple reduction).

        The tensor's own stage begins anew: it reduces the partial results.
        """
        stage = self[tensor]
        parts, result = factored(stage, axis, factor_axis)
        at = self.stages.index(stage)
        self._rewrite(stage, result)
        self._insert(parts, at)
        outputs = [parts.output(i) for i in range(parts.num_outputs)]
        return outputs if len(outputs) > 1 else outputs[0]

    def _rewrite(self, stage: Stage, op: Operation, keep: bool = False) -> None:
        """Let a stage compute another operation; with `keep` its loops stay as they are."""
        if keep:
            stage.op = op
        else:
            stage.reset(op)
        self.stage_map[op] = stage

    def _insert(self, op: Operation, at: int) -> Stage:
        stage = Stage(op)
        self.stages.insert(at, stage)
        self.stage_map[op] = stage
        return stage


def as_list(value: Any) -> list[Any]:
    """One thing or several as a list."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shared_parts(schedule: Schedule) -> dict[int, Any]:
    """What a copy of a schedule shares with it: operations, axes and threads, which are names."""
    axes = [axis for stage in schedule.stages for axis in stage.all_iter_vars]
    threads = [
        attributes.bind_thread
        for stage in schedule.stages
        for _, attributes in stage.attributes.values()
        if attributes.bind_thread is not None
    ]
    return {id(part): part for part in [*schedule.stage_map, *axes, *threads]}
