"""`tir-plan-buffer-allocation`: each buffer at the innermost place that covers all its uses.

A buffer may move into a loop when no iteration reads what an earlier one left in it: then it can
be as small as what one iteration needs, and every thread of a parallel loop has its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import AccessOp, BlockOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir.buffer_names import has_one_name
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import init_of, read_buffers, written_buffers
from relax_mlir.tir.schedule.index import as_index

__all__ = ["PlanBufferAllocation", "allocations", "has_loops"]


@register_pass("tir-plan-buffer-allocation")
@dataclass(frozen=True)
class PlanBufferAllocation(Pass):
    """Move allocations of TensorIR functions to the innermost place that covers their uses."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes:
                for allocation in allocations(function):
                    _place(allocation)


def has_loops(function: ir.Operation) -> bool:
    """Whether a function's body has loops or blocks (not only linalg)."""
    blocks = list(function.regions[0].blocks)
    return bool(blocks) and any(
        o.operation.name.startswith(("tir.for", "tir.block", "tir.attr", "scf."))
        for o in blocks[0].operations
    )


def allocations(function: ir.Operation) -> list[AllocBufferOp]:
    """The allocations of a function that has loops, in order."""
    if not has_loops(function):
        return []
    return [op for op in nest.descend(function.opview) if isinstance(op, AllocBufferOp)]


def _place(allocation: AllocBufferOp) -> None:
    op, buffer = allocation.operation, allocation.operation.results[0]
    while True:
        users = [use.owner.operation for use in buffer.uses]
        around = _statement_around(op.block, users)
        if around is None or not _may_move_into(around, buffer, users):
            return
        body = around.operation.regions[0].blocks[0]
        for user in users:
            if user.block == body and isinstance(user.opview, AccessOp):
                user.erase()  # a block does not declare accesses to buffers of its own
        op.move_before(body.operations[0].operation)


def _statement_around(block: ir.Block, users: list[ir.Operation]) -> ir.OpView | None:
    """The loop or block in `block` that contains all users."""
    found: ir.Operation | None = None
    for user in users:
        current: ir.Operation | None = user
        while current is not None and current.block != block:
            current = None if current.parent is None else current.parent.operation
        if current is None or (found is not None and current != found):
            return None
        found = current
    view = None if found is None else found.opview
    return view if isinstance(view, (ForOp, BlockOp)) else None


def _may_move_into(around: ir.OpView, buffer: ir.Value, users: list[ir.Operation]) -> bool:
    if isinstance(around, BlockOp):
        # Its initialisation and its steps share the buffer; a block of its own body does not.
        return init_of(around) is None and len(nest.child_blocks(around)) > 0
    assert isinstance(around, ForOp)
    # The iterations of a parallel loop cannot rely on what others left.
    alone = around.extent == 1 or around.kind.value == "parallel"
    return alone or _is_fresh_each_iteration(around, buffer, users)


def _is_fresh_each_iteration(loop: ForOp, buffer: ir.Value, users: list[ir.Operation]) -> bool:
    """Whether everything that an iteration reads of the buffer is written before by itself."""
    if not has_one_name(buffer):
        return False
    blocks: list[BlockOp] = []
    for user in users:
        block = _outermost_block(user, loop)
        if block is None:
            return False
        if block not in blocks:
            blocks.append(block)
    makers = [b for b in blocks if _makes_anew(b, buffer, loop)]
    return all(
        _initialises_itself(reader, buffer, loop)
        or any(_covers_before(loop, maker, reader, buffer) for maker in makers)
        for reader in blocks
        if reader not in makers
    )


def _outermost_block(op: ir.Operation, loop: ForOp) -> BlockOp | None:
    """The block inside of a loop that an operation is in, with its blocks inside; None where there
    is no such block."""
    found: BlockOp | None = None
    outer = op.parent
    while outer is not None and outer.operation != loop.operation:
        view = outer.operation.opview
        found = view if isinstance(view, BlockOp) else found
        outer = outer.operation.parent
    return found if outer is not None else None


def _makes_anew(block: BlockOp, buffer: ir.Value, loop: ForOp) -> bool:
    """Whether a block writes a buffer and, in an iteration of the loop, reads nothing of it that
    it has not written itself."""
    if buffer not in written_buffers(block) or buffer in read_buffers(block):
        return False
    # An initialisation hides what its steps read from the declarations.
    return init_of(block) is None or _initialises_itself(block, buffer, loop)


def _initialises_itself(block: BlockOp, buffer: ir.Value, loop: ForOp) -> bool:
    """A reduction that starts over in every iteration of the loop."""
    if init_of(block) is None or buffer in read_buffers(block):
        return False
    reduced = [
        leaf
        for kind, binding in zip(block.kinds, block.bindings, strict=True)
        if kind != "S"
        for leaf in as_index(binding).leaves()
    ]
    return all(v != nest.loop_var(loop) and nest.encloses(loop, v) for v in reduced)


def _covers_before(loop: ForOp, maker: BlockOp, reader: BlockOp, buffer: ir.Value) -> bool:
    """Whether `maker` runs before `reader` in each iteration of the innermost loop around both,
    which is `loop` or inside it, and writes all that `reader` reads there."""
    if nest.scope_of(maker) != nest.scope_of(reader) or _is_conditional(maker, loop):
        return False
    common = [outer for outer in nest.loops_around(reader) if nest.is_ancestor(outer, maker)]
    if not common or not nest.is_ancestor(loop, common[-1]):
        return False
    body = common[-1].block
    first, second = (_statement_around(body, [b.operation]) for b in (maker, reader))
    if first is None or second is None or first == second:
        return False
    from relax_mlir.tir.schedule.compute_location import covers

    before = first.operation.is_before_in_block(second.operation)
    return before and covers(common[-1], maker, reader, buffer)


def _is_conditional(block: BlockOp, loop: ForOp) -> bool:
    """Whether something other than loops is between a loop and a block inside of it."""
    outer = nest.parent(block)
    while outer is not None and outer != loop:
        if not isinstance(outer, ForOp):
            return True
        outer = nest.parent(outer)
    return False
