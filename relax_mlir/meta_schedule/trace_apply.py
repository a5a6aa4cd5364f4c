"""Applying traces to functions that are not quite those they were made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.errors import ScheduleError
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.database.records import TuningRecord
from relax_mlir.meta_schedule.module_equality import module_key
from relax_mlir.meta_schedule.utils import block_names, is_valid
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule, Trace
from relax_mlir.tir.schedule.random_variable import RandomVariable
from relax_mlir.tir.schedule.trace import Instruction

__all__ = ["schedule_of_record", "schedule_using_anchor_trace"]


def schedule_of_record(record: TuningRecord, mod: IRModule, target: Target) -> Schedule:
    """A workload scheduled as a record says, which may be of another one with the same anchor
    block."""
    recorded = record.workload.mod
    if module_key(mod, "ignore-tensor") != module_key(recorded, "ignore-tensor"):
        sch = Schedule(mod)
        schedule_using_anchor_trace(sch, record.trace, target)
        return sch
    names = dict(zip(block_names(recorded), block_names(mod), strict=True))
    renamed = _with_names(record.trace, names)
    # A trace that asks for blocks which it made itself is replayed on what it was made for, which
    # says the same: their names come from those of buffers.
    sch = Schedule(recorded if renamed is None else mod)
    (record.trace if renamed is None else renamed).apply_to_schedule(sch)
    return sch


def _with_names(trace: Trace, names: Mapping[str, str]) -> Trace | None:
    """A trace that gets blocks by other names; None where it gets some that have none."""
    renamed: list[Instruction] = []
    for instruction in trace.insts:
        name = str(instruction.keywords.get("name"))
        if instruction.kind != "get_sblock" or name == "root":
            renamed.append(instruction)
        elif name in names:
            renamed.append(instruction.with_keywords(name=names[name]))
        else:
            return None
    return Trace(renamed)


def schedule_using_anchor_trace(sch: Schedule, anchor_trace: Trace, target: Target) -> None:
    """Apply a trace that was made for a function with the same anchor block but other blocks
    around it; blocks that it says nothing of are inlined or run in parallel.

    Instructions on blocks that `sch` does not have are left out, and so are those that it refuses.
    """
    values: dict[RandomVariable, RandomVariable] = {}
    scheduled: set[str] = set()
    names = block_names(sch.mod)
    for instruction in anchor_trace.insts:
        name = instruction.keywords.get("name")
        if instruction.kind == "get_sblock" and name != "root" and name not in names:
            continue
        if any(v not in values for v in instruction.inputs):
            continue
        try:
            _apply(instruction, sch, values)
        except ScheduleError:
            continue
        if instruction.kind == "get_sblock":
            scheduled.add(str(name))
    if target.device_type == "cpu":
        _schedule_the_rest(sch, [name for name in names if name not in scheduled])


def _apply(
    instruction: Instruction, sch: Schedule, values: dict[RandomVariable, RandomVariable]
) -> None:
    Trace([instruction]).apply_to_schedule(sch, values=values)


def _schedule_the_rest(sch: Schedule, names: Sequence[str]) -> None:
    """Inline the blocks of these names, or else run their loops in parallel."""
    for name in names:
        if name not in block_names(sch.mod):
            continue  # it was inlined into one before it, or the trace consumed it
        block = sch.get_sblock(name)
        for primitive in (sch.compute_inline, sch.reverse_compute_inline):
            try:
                primitive(block)
            except ScheduleError:
                continue
            break
        if not is_valid(sch, block):
            continue
        loops = sch.get_loops(block)
        if loops and len(sch.get_child_blocks(loops[0])) == 1:
            try:
                sch.parallel(loops[0])
            except ScheduleError:
                continue
