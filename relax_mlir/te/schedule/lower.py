"""A schedule and arguments to a PrimFunc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.ir.module import IRModule
from relax_mlir.te.create_primfunc import Created, Storage, create_for_schedule
from relax_mlir.te.scan import ScanOp
from relax_mlir.te.schedule.graph import inputs_of
from relax_mlir.te.schedule.operations import FinalOperations
from relax_mlir.te.schedule.replay import Replay
from relax_mlir.te.schedule.stage import AT, INLINE
from relax_mlir.te.schedule.storage import storage_scope
from relax_mlir.te.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.expr import Var
from relax_mlir.tir.schedule import Schedule as TirSchedule
from relax_mlir.tir.schedule import nest

if TYPE_CHECKING:
    from relax_mlir.te.schedule.schedule import Schedule

__all__ = ["lower_schedule"]


def lower_schedule(
    schedule: Schedule,
    args: Sequence[Tensor | Var | Buffer],
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """A module with the function that computes the schedule's outputs, scheduled.

    args: its parameters, in order: inputs, outputs, sizes and scalars (Var), and buffers that
    `binds` says the tensor of.  Tensors that are computed and no parameters are allocated.

    Raises ScheduleError where the schedule cannot be applied, Error for missing parameters.
    """
    final = FinalOperations(schedule)
    params = [_as_parameter(arg, binds or {}) for arg in args]
    given, moved = _parameters(schedule, final, params)
    created = create_for_schedule(given, name, _storage(schedule, final, given))
    replayed = TirSchedule(IRModule({name: created.function}))
    Replay(schedule, final, replayed, created.blocks).run()
    for tensor, place in {**moved, **_states(created)}.items():
        _store_in(replayed, name, created.buffers[tensor].name, created.buffers[place].name)
    return replayed.mod


def _as_parameter(arg: Any, binds: Mapping[Tensor, Buffer]) -> Tensor | Var:
    """The tensor or variable that an argument is.  Raises ScheduleError for what is neither."""
    if isinstance(arg, (Tensor, Var)):
        return arg
    found = [tensor for tensor, buffer in binds.items() if buffer is arg]
    if not found:
        raise ScheduleError(f"lower: {arg!r} is no tensor, no variable and no buffer of `binds`")
    if isinstance(arg, Buffer) and (arg.strides or arg.scope() != "global"):
        raise ScheduleError(f"lower: buffer {arg.name} has strides or a storage scope",
                            hint="parameters are compact, in global memory")  # fmt: skip
    return found[0]


def _parameters(
    schedule: Schedule, final: FinalOperations, params: Sequence[Tensor | Var]
) -> tuple[list[Tensor | Var], dict[Tensor, Tensor]]:
    """What the function takes, and the parameters that computed tensors shall be stored in after
    they have been moved: moving takes tensors that nobody else sees."""
    given: list[Tensor | Var] = []
    moved: dict[Tensor, Tensor] = {}
    for param in params:
        stage = schedule.stage_map.get(param.op) if isinstance(param, Tensor) else None
        if stage is None or not isinstance(param, Tensor):
            given.append(param)
            continue
        tensor = final.tensor(param)
        if stage.attach_type not in (AT, INLINE):
            given.append(tensor)
            continue
        place = PlaceholderOp(tensor.name, tensor.shape, tensor.dtype).output(0)
        given.append(place)
        if stage.attach_type == AT:
            moved[tensor] = place
    computed = {t.op for t in given if isinstance(t, Tensor)}
    for op in schedule.outputs:
        made = final.operation(schedule.stage_map[op])
        if made not in computed:
            raise ScheduleError(f"lower: {op.name} is an output and not among the arguments")
    return given, moved


def _storage(schedule: Schedule, final: FinalOperations, given: Sequence[Tensor | Var]) -> Storage:
    """The storage scopes of computed tensors, and which outputs need a nest of their own."""
    scopes: dict[Tensor, str] = {}
    separate: dict[Operation, list[int]] = {}
    read = {t for stage in schedule.stages for t in inputs_of(final.operation(stage))}
    read |= {t for t in given if isinstance(t, Tensor)}
    for stage in schedule.stages:
        op = final.operation(stage)
        if not isinstance(op, ComputeOp):
            continue
        scope = storage_scope(stage)
        scopes |= {op.output(i): scope for i in range(op.num_outputs)}
        if stage.attach_type == AT and op.num_outputs > 1 and not op.reduce_axis:
            separate[op] = [i for i in range(op.num_outputs) if op.output(i) in read]
    return Storage(scopes, separate)


def _states(created: Created) -> dict[Tensor, Tensor]:
    """The states that scans read, and what the scans compute, which they are."""
    scans = [op for op in created.blocks if isinstance(op, ScanOp)]
    return {s: op.output(i) for op in scans for i, s in enumerate(op.state_placeholder)}


def _store_in(schedule: TirSchedule, function: str, buffer: str, place: str) -> None:
    """Let all that uses an allocated buffer use another one, by their names."""
    with mlir.scope():
        root = schedule.get(schedule.get_sblock("root", function))
        entry = nest.body_of(root)
        allocations = [op.results[0] for op in nest.operations(entry) if op.name == _ALLOCATION]
        named = {nest.value_name(v): v for v in [*entry.arguments, *allocations]}
        old = named[buffer]
        old.replace_all_uses_with(named[place])
        old.owner.erase()


_ALLOCATION = "tir.alloc_buffer"
