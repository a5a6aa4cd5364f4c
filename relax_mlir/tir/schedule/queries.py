"""Finding loops and blocks."""

from __future__ import annotations

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import analysis, nest
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.state import ScheduleState


def get_loops(state: ScheduleState, block: ir.OpView) -> list[ir.OpView]:
    """The loops around a block up to its scope, outermost first; none around the root block."""
    return [] if block.operation.name == "func.func" else list(nest.loops_around(block))


def get_child_blocks(state: ScheduleState, block_or_loop: ir.OpView) -> list[ir.OpView]:
    """The blocks directly below a block or loop."""
    return list(nest.child_blocks(block_or_loop))


def get_producers(state: ScheduleState, block: ir.OpView) -> list[ir.OpView]:
    """The earlier blocks of the same scope that write what the block reads."""
    return list(analysis.producers(analysis.require_block(block)))


def get_consumers(state: ScheduleState, block: ir.OpView) -> list[ir.OpView]:
    """The later blocks of the same scope that read what the block writes."""
    return list(analysis.consumers(analysis.require_block(block)))


def get_output_blocks(state: ScheduleState, scope_block: ir.OpView) -> list[ir.OpView]:
    """The blocks below a scope that write a buffer which was not allocated in it."""
    found = [b for b in nest.child_blocks(scope_block) if analysis.is_output(b)]
    if not found:
        raise Refusal("no block of the scope writes an output", scope_block)
    return list(found)
