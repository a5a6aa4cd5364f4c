"""`tir-unify-thread-binding`: one loop for each thread axis of a kernel, around all of it.

Scheduled programs bind an axis again in every nest below a block (`cache_read` under `compute_at`
brings its own `threadIdx.x`).  All of them are the same threads: their loops are replaced by one
around the kernel.  A block that is not bound to one of the axes would be run by all threads along
it: the first of them does, where what it writes is not its own.  Buffers that belong to threads or
blocks, which cannot outlive the kernel, move into it.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import is_private_buffer
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    AXES,
    function_name,
    inside,
    is_at_or_inside,
    kernel_roots,
    loop_name,
    loops_around,
    thread_loops,
)
from relax_mlir.mlir import arith, ir, scf
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import written_buffers
from relax_mlir.tir.schedule.index import Index, as_index, leaf
from relax_mlir.tir.schedule.index_write import write

__all__ = ["UnifyThreadBinding", "dissolve"]


@register_pass("tir-unify-thread-binding")
@dataclass(frozen=True)
class UnifyThreadBinding(Pass):
    """Bind each thread axis of a kernel once, outside of everything else."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes and len(function.regions[0].blocks):
                for root in kernel_roots(function):
                    _unify(root)
                for root in kernel_roots(function):
                    _take_buffers(function, root)


def _unify(root: ir.Operation) -> None:
    loops = thread_loops(root)
    by_axis: dict[str, list[ForOp]] = {}
    for loop in loops:
        by_axis.setdefault(_axis(loop), []).append(loop)
    lonely = _partly_bound(root, by_axis)
    # All sizes are known before the first loop: nothing is between the loops of a launch.
    sizes = {
        axis: _bound(_common_extent(axis, by_axis[axis], root), ir.InsertionPoint(root))
        for axis in sorted(by_axis, key=_order)
    }
    made = {axis: _around(root, axis, size, by_axis[axis][0]) for axis, size in sizes.items()}
    for loop in reversed(loops):
        dissolve(loop, made[_axis(loop)])
    for block, axes in lonely:
        _run_in_first(block, [nest.loop_var(made[axis]) for axis in axes])


def _partly_bound(
    root: ir.Operation, by_axis: dict[str, list[ForOp]]
) -> list[tuple[BlockOp, list[str]]]:
    """The blocks that write what threads share, and the axes of threads they are not bound to."""
    axes = [
        axis
        for axis, loops in by_axis.items()
        if axis.startswith("threadIdx") and loops[0].extent != 1
    ]
    found: list[tuple[BlockOp, list[str]]] = []
    for view in [o.opview for o in inside(root)]:
        if not isinstance(view, BlockOp) or nest.child_blocks(view):
            continue
        if any(is_private_buffer(buffer) for buffer in written_buffers(view)):
            continue
        loops = [*loops_around(view), *thread_loops(view.operation)]
        bound = {nest.thread_axis(loop) for loop in loops}
        missing = [axis for axis in axes if axis not in bound]
        if missing and not _speaks_to_all(view.operation):
            found.append((view, missing))
    return found


def _speaks_to_all(op: ir.Operation) -> bool:
    """Whether an operation is one of a whole warp or block."""
    return any(o.name.startswith(("tir.call", "gpu.", "nvgpu.")) for o in inside(op))


def _run_in_first(block: BlockOp, variables: list[ir.Value]) -> None:
    op = block.operation
    with ir.InsertionPoint(op), op.location:
        zero = arith.constant(ir.IndexType.get(), 0)
        condition: ir.Value | None = None
        for variable in variables:
            first = arith.cmpi(arith.CmpIPredicate.eq, variable, zero)
            condition = first if condition is None else arith.andi(condition, first)
        assert condition is not None
        branch = scf.IfOp(condition)
        with ir.InsertionPoint(branch.then_block):
            end = scf.YieldOp([]).operation
    op.move_before(end)


def _axis(loop: ForOp) -> str:
    axis = nest.thread_axis(loop)
    assert axis is not None, "a thread-bound loop names its axis"
    return axis


def _order(axis: str) -> tuple[int, str]:
    return (AXES.index(axis) if axis in AXES else len(AXES), axis)


def _common_extent(axis: str, loops: list[ForOp], root: ir.Operation) -> Index:
    """The extent that all loops on an axis share, in terms of values from outside the kernel.

    Raises CompileError when they differ, or when it is only known inside of the kernel.
    """
    extents = [as_index(loop.extent) for loop in loops]
    first = extents[0]
    for loop, extent in zip(loops, extents, strict=True):
        if extent != first:
            raise CompileError(
                f"{function_name(root)}: the loops {loop_name(loops[0])} and {loop_name(loop)} are "
                f"both bound to {axis}, but run {first} and {extent} times",
                hint="all loops of a kernel on one axis must have the same extent: split to it",
            )
    for value in first.leaves():
        owner = value.owner
        op = owner.owner if isinstance(owner, ir.Block) else owner
        if is_at_or_inside(op.operation, root):
            raise CompileError(
                f"{function_name(root)}: {axis} runs {first} times, which is only known inside of "
                "the kernel",
                hint="the number of threads must follow from the sizes of the arguments",
            )
    return first


def _around(root: ir.Operation, axis: str, size: int | ir.Value, model: ForOp) -> ForOp:
    """A loop on `axis` in the place of `root`, which moves into it."""
    at = ir.InsertionPoint(root)
    static, values = mixed.split([0, size])
    made = ForOp(ir.StringAttr.get("thread_binding"), static, values, loc=model.location, ip=at)
    made.operation.attributes["thread"] = ir.StringAttr.get(axis)
    for name in ("annotations", "dtype"):
        if name in model.operation.attributes:
            made.operation.attributes[name] = model.operation.attributes[name]
    body = made.body.blocks.append(ir.IndexType.get(), arg_locs=[_variable_location(model)])
    root.detach_from_parent()
    body.append(root)
    return made


def _variable_location(loop: ForOp) -> ir.Location:
    return nest.loop_var(loop).location


def _bound(extent: Index, at: ir.InsertionPoint) -> int | ir.Value:
    constant = extent.as_constant()
    return write(extent, at) if constant is None else constant


def dissolve(loop: ForOp, unified: ForOp) -> None:
    """Replace a loop by its body, run for the index of the unified loop."""
    op = loop.operation
    value = leaf(nest.loop_var(unified)) + as_index(loop.min)
    index = write(value, ir.InsertionPoint(op), op.location)
    nest.loop_var(loop).replace_all_uses_with(index)
    for view in list(loop.block.operations):
        view.operation.move_before(op)
    op.erase()


def _take_buffers(function: ir.Operation, root: ir.Operation) -> None:
    """Allocate what only this kernel uses, and no other memory than its own can hold, in it."""
    loops = thread_loops(root)
    if not loops:
        return
    body = loops[-1].block
    for op in list(inside(function)):
        if op.name != "tir.alloc_buffer" or is_at_or_inside(op, root):
            continue
        if ir.StringAttr(op.attributes["scope"]).value in ("global", ""):
            continue
        users = [use.owner.operation for use in op.results[0].uses]
        if users and all(is_at_or_inside(user, root) for user in users):
            op.move_before(body.operations[0].operation)
