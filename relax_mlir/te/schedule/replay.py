"""Applying a te schedule: its stages' steps on a `tir.Schedule`, consumers before producers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from relax_mlir.errors import ScheduleError
from relax_mlir.te.scan import ScanOp
from relax_mlir.te.schedule.relations import Fuse, Singleton, Split, Step
from relax_mlir.te.schedule.shared_reduction import SharedReduction
from relax_mlir.te.schedule.stage import AT, LoopAttributes, Stage, axes_of
from relax_mlir.te.schedule.tensorize import Loops, tensorize
from relax_mlir.tir.expr import IntImm, IterVar
from relax_mlir.tir.schedule import Schedule as TirSchedule
from relax_mlir.tir.schedule.index import as_index
from relax_mlir.tir.schedule.random_variable import LoopRV

if TYPE_CHECKING:
    from relax_mlir.te.schedule.operations import FinalOperations
    from relax_mlir.te.schedule.schedule import Schedule
    from relax_mlir.te.schedule.tensor_intrin import TensorIntrin
    from relax_mlir.te.tensor import Operation

__all__ = ["Replay"]

_KINDS: dict[int, Callable[[TirSchedule, LoopRV], None]] = {
    IterVar.Vectorized: TirSchedule.vectorize,
    IterVar.Parallelized: TirSchedule.parallel,
    IterVar.Unrolled: TirSchedule.unroll,
}


class Replay:
    """Applies the stages of a schedule to a function in which each is a nest of its own."""

    def __init__(
        self,
        schedule: Schedule,
        final: FinalOperations,
        function: TirSchedule,
        blocks: Mapping[Operation, Sequence[str]],
    ):
        self._schedule = schedule
        self._final = final
        self._function = function
        self._blocks = blocks
        self._loops: dict[Stage, Loops] = {}
        self._pending: list[tuple[Stage, str, Loops, IterVar, TensorIntrin]] = []
        """Nests that become intrinsics when everything is in its place."""
        self._time_axes = {
            step.axis[0] for op in blocks if isinstance(op, ScanOp) for step in op.steps
        }
        self._virtual_threads: dict[IterVar, str] = {}

    def run(self) -> None:
        """Place and transform the stages, those that read first.

        Raises ScheduleError when a step cannot be applied.
        """
        for stage in reversed(self._schedule.stages):
            op = self._final.operation(stage)
            names = self._blocks.get(op, [])
            if names:
                self._require_time_in_order(stage)
                self._apply(stage, names)
        for tensorized in self._pending:
            tensorize(self._function, *tensorized)

    def _require_time_in_order(self, stage: Stage) -> None:
        """States of a scan are computed one after the other, by all of its stages together."""
        for axis in set(axes_of(stage.op)) & self._time_axes:
            how = stage.iter_var_attrs.get(axis, LoopAttributes())
            if stage.leaf_iter_vars[0] is not axis or how != LoopAttributes():
                raise ScheduleError(f"{stage.op.name}: {axis.var.name} walks over the states of a "
                                    "scan; it stays the outermost loop, as it is")  # fmt: skip

    def _apply(self, stage: Stage, names: Sequence[str]) -> None:
        """Move the nests of a stage to their place and change their loops."""
        moved = stage.attach_type == AT
        for nest in [[name] for name in names] if moved else [list(names)]:
            shared = SharedReduction.around(stage, self._schedule.stage_map)
            if moved:
                self._move(stage, nest[0], shared)
            loops = self._axis_loops(stage, nest)
            if shared is not None:
                self._function.bind(loops[shared.axis], self._tag(shared.thread))
            for step in stage.steps:
                self._step(nest[-1], loops, step)
            self._loops[stage] = loops
            self._properties(stage, nest, loops)
            for axis in stage.leaf_iter_vars:
                how = stage.iter_var_attrs.get(axis)
                if how is not None and how.tensor_intrin is not None:
                    self._pending.append((stage, nest[-1], loops, axis, how.tensor_intrin))

    def _move(self, stage: Stage, block: str, shared: SharedReduction | None) -> None:
        parent, scope = stage.attach_stage, stage.attach_ivar
        assert parent is not None and scope is not None, "a stage in a loop has a loop"
        scope = parent.remaining(scope) if shared is None else shared.outside
        loop = self._loops.get(parent, {}).get(scope)
        if loop is None:
            raise ScheduleError(
                f"compute_at: {scope.var.name} is no loop of {parent.op.name} in the end",
                hint="the stage was rewritten after compute_at, or is inlined",
            )
        self._function.compute_at(block, loop, preserve_unit_loops=True)

    def _axis_loops(self, stage: Stage, names: Sequence[str]) -> Loops:
        """The loops of the axes of a stage's operation."""
        axes = axes_of(stage.op)
        if not axes:
            return {}
        around = self._function.get_loops(names[-1])
        nested = len(names) > 1 and len(around) < len(axes)
        if nested:  # reduction axes that depend on others: the outer block has the latter's loops
            around = [*self._function.get_loops(names[0]), *around]
        return dict(zip(axes, around[-len(axes) :], strict=True))

    def _step(self, block: str, loops: Loops, step: Step) -> None:
        function = self._function
        if isinstance(step, Split):
            made = function.split(loops[step.parent], [step.nparts, step.factor])
            loops[step.outer], loops[step.inner] = made
        elif isinstance(step, Fuse):
            loops[step.fused] = function.fuse(loops[step.outer], loops[step.inner])
        elif isinstance(step, Singleton):
            outermost = next(iter(loops.values()), None)
            loops[step.iter] = function.add_unit_loop(outermost or block)
        else:
            function.reorder(*[loops[axis] for axis in step.order])

    # -- how loops run ----------------------------------------------------------------------

    def _properties(self, stage: Stage, names: Sequence[str], loops: Loops) -> None:
        for axis in stage.leaf_iter_vars:
            if id(axis) in stage.attributes:
                self._run_loop(loops, axis, stage.attributes[id(axis)][1])
        block = names[-1]
        for axis, factor, offset in stage.alignments:
            numbers = [number for number, own in enumerate(axes_of(stage.op)) if own is axis]
            if not numbers:
                raise ScheduleError(f"storage_align: {axis.var.name} is no axis of {stage.op.name}")
            self._function.storage_align(block, 0, numbers[0], factor, offset)
        if stage.is_double_buffer:
            self._function.annotate(self._function.get_sblock(block), "double_buffer_scope", 0)
        if stage.is_rolling_buffer:
            self._function.rolling_buffer(block, 0)

    def _run_loop(self, loops: Loops, axis: IterVar, how: LoopAttributes) -> None:
        function = self._function
        if how.iter_type in _KINDS:
            _KINDS[how.iter_type](function, loops[axis])
        for name, value in how.pragmas:
            function.annotate(loops[axis], f"pragma_{name}", 1 if value is None else value)
        if how.bind_thread is not None:
            loops[axis] = self._on_threads(loops[axis], how.bind_thread)
            function.bind(loops[axis], self._tag(how.bind_thread))

    def _on_threads(self, loop: LoopRV, thread: IterVar) -> LoopRV:
        """The loop with as many iterations as there are threads, if they say how many."""
        size = thread.dom.extent if thread.dom is not None else None
        extent = as_index(self._function.get(loop).extent).as_constant()
        if not isinstance(size, IntImm) or size.value == extent:
            return loop
        _, inner = self._function.split(loop, [None, size.value])
        return inner

    def _tag(self, thread: IterVar) -> str:
        """TensorIR's name of a thread axis; each virtual one has a letter of its own."""
        if thread.thread_tag != "vthread":
            return thread.thread_tag
        taken = self._virtual_threads
        if thread not in taken:
            if len(taken) == len(_LETTERS):
                raise ScheduleError(f"bind: more than {len(_LETTERS)} virtual thread axes")
            taken[thread] = f"vthread.{_LETTERS[len(taken)]}"
        return taken[thread]


_LETTERS = "xyz"
