"""`tir-inject-virtual-thread`: virtual threads become loops around single statements.

Virtual threads are threads that share one real one: each of them runs the program, in step with the
others.  Their loop, which `tir-unify-thread-binding` has put around the kernel, moves inward past
the loops that do not depend on it, to the statements that do: a barrier or a copy for all of them
is made once, and each reduction step is run for all of them before the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import is_private_scope
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    VIRTUAL,
    inside,
    is_at_or_inside,
    thread_loops,
)
from relax_mlir.lowering.tir_to_gpu.recompute import recompute_operands
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import new_loop

__all__ = ["InjectVirtualThread"]


@register_pass("tir-inject-virtual-thread")
@dataclass(frozen=True)
class InjectVirtualThread(Pass):
    """Run virtual threads in step: their loops go around the statements that depend on them."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" not in function.attributes or not len(function.regions[0].blocks):
                continue
            virtual = [
                loop
                for loop in thread_loops(function)
                if (nest.thread_axis(loop) or "").startswith(VIRTUAL)
            ]
            for loop in reversed(virtual):
                _inject(loop)


def _inject(loop: ForOp) -> None:
    if _shares_a_private_buffer(loop):
        # Each virtual thread needs its contents until it is done: one after the other.
        del loop.operation.attributes["thread"]
        loop.operation.attributes["kind"] = ir.StringAttr.get("unrolled")
        return
    op = loop.operation
    for view in [v for v in loop.block.operations if isinstance(v, AllocBufferOp)]:
        view.operation.move_before(op)
    _distribute(loop, loop.block)
    for view in list(loop.block.operations):
        view.operation.move_before(op)
    variable = nest.loop_var(loop)
    if any(True for _ in variable.uses):
        start = write(as_index(loop.min), ir.InsertionPoint(op), op.location)
        variable.replace_all_uses_with(start)
    op.erase()


def _shares_a_private_buffer(loop: ForOp) -> bool:
    """Whether a buffer of the thread holds, at one place, different values of virtual threads from
    one statement to another."""
    variable = nest.loop_var(loop)
    for op in inside(loop.operation):
        if op.name != "tir.alloc_buffer":
            continue
        if not is_private_scope(ir.StringAttr(op.attributes["scope"]).value):
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        blocks = {_leaf_block(user) for user in users}
        if len(blocks) < 2:
            continue
        for user in users:
            if user.name != "memref.store":
                continue
            indices = [_outer_terms(as_index(v), user) for v in list(user.operands)[2:]]
            block = _leaf_block(user)
            depends = block is not None and _depends(block.operation, variable)
            if depends and not any(index.uses(variable) for index in indices):
                return True
    return False


def _leaf_block(op: ir.Operation) -> BlockOp | None:
    outer = op.parent
    while outer is not None:
        if isinstance(outer.operation.opview, BlockOp):
            return outer.operation.opview
        outer = outer.operation.parent
    return None


def _outer_terms(index: Index, op: ir.Operation) -> Index:
    """An index in terms of loop variables."""
    outer = op.parent
    while outer is not None:
        view = outer.operation.opview
        if isinstance(view, BlockOp):
            pairs = zip(nest.iter_vars(view), view.bindings, strict=True)
            index = index.substitute({v: as_index(binding) for v, binding in pairs})
        outer = outer.operation.parent
    return index


def _depends(op: ir.Operation, variable: ir.Value) -> bool:
    """Whether an operation, or one inside of it, uses what is computed from a variable."""
    return any(_comes_from(v, variable) for o in (op, *inside(op)) for v in o.operands)


def _comes_from(value: ir.Value, variable: ir.Value) -> bool:
    if value == variable:
        return True
    owner = value.owner
    if isinstance(owner, ir.Block) or not nest.is_movable(owner.operation.opview):
        return False
    return any(_comes_from(v, variable) for v in owner.operation.operands)


def _distribute(loop: ForOp, block: ir.Block) -> None:
    """Put the loop around the statements of a block that depend on it."""
    variable = nest.loop_var(loop)
    for view in list(block.operations):
        op = view.operation
        if nest.is_movable(view) or isinstance(view, AllocBufferOp) or not _depends(op, variable):
            continue
        bounds = any(_comes_from(v, variable) for v in op.operands)
        # The lanes of a vector stay together.
        if isinstance(view, ForOp) and view.kind.value != "vectorized" and not bounds:
            _distribute(loop, view.block)
        else:
            _wrap(loop, op)
    for op in reversed([v.operation for v in block.operations if nest.is_movable(v)]):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()


def _wrap(loop: ForOp, op: ir.Operation) -> None:
    """Run an operation once for each virtual thread."""
    variable = nest.loop_var(loop)
    made = new_loop(
        nest.value_name(variable, "vthread"),
        as_index(loop.extent),
        ir.InsertionPoint(op),
        low=as_index(loop.min),
        kind="unrolled",
    )
    op.detach_from_parent()
    made.block.append(op)
    copies: dict[ir.Value, ir.Value] = {variable: nest.loop_var(made)}

    def changes(value: ir.Value) -> bool:
        producer = value.owner
        outside = isinstance(producer, ir.Block) or not is_at_or_inside(producer.operation, op)
        return outside and _comes_from(value, variable)

    recompute_operands(op, copies, ir.InsertionPoint(op), changes)
