"""`tir-to-gpu-launch`: the loops that are bound to threads become launches (TVM: SplitHostDevice).

A kernel's thread-bound loops, which `tir-unify-thread-binding` has put around it, become the sizes
of a `gpu.launch`.  What is outside stays host code.  Buffers get their memory: `shared` ones the
workgroup's, `local` ones the thread's, `global` ones of the device, allocated by the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import place_buffers
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    AXES,
    VIRTUAL,
    function_name,
    inside,
    kernel_roots,
)
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest

__all__ = ["TirToGpuLaunch"]

_SEGMENTS = (0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0)
_GROUPS = {"blockIdx": "blocks of the grid", "threadIdx": "threads of a block"}


@register_pass("tir-to-gpu-launch")
@dataclass(frozen=True)
class TirToGpuLaunch(Pass):
    """Turn thread-bound loops into gpu.launch and give buffers their memory spaces."""

    def run(self, state: ModuleState) -> None:
        limits = DeviceLimits.of(state.target)
        for function in state.functions():
            if "tir.attrs" in function.attributes and len(function.regions[0].blocks):
                roots = kernel_roots(function)
                launches = [_launch(root, limits) for root in roots if not _drop_empty(root)]
                place_buffers(function, launches)


def _drop_empty(root: ir.Operation) -> bool:
    """Erase a kernel without threads, of tensors without elements: a device launches none."""
    empty = any(loop.extent == 0 for loop in _bound_loops(root))
    if empty:
        root.erase()
    return empty


def _launch(root: ir.Operation, limits: DeviceLimits) -> ir.Operation:
    """Replace a kernel's thread-bound loops by a launch of their body."""
    loops = _bound_loops(root)
    sizes = {nest.thread_axis(loop): loop.extent for loop in loops}
    static = {axis: sizes.get(axis, 1) for axis in AXES}
    _check_sizes(root, static, limits)
    with ir.InsertionPoint(root), root.location:
        operands = [_as_value(size) for size in static.values()]
        made = ir.Operation.create(
            "gpu.launch",
            operands=operands,
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get(list(_SEGMENTS))},
            regions=1,
        )
    body = made.regions[0].blocks.append(*[ir.IndexType.get()] * 12, arg_locs=[root.location] * 12)
    with ir.InsertionPoint(body), root.location:
        end = ir.Operation.create("gpu.terminator")
    made.attributes["annotations"] = ir.DictAttr.get(_annotations(loops))
    for loop in loops:
        variable = nest.loop_var(loop)
        argument = body.arguments[AXES.index(nest.thread_axis(loop) or "")]
        argument.set_location(variable.location)
        variable.replace_all_uses_with(argument)
    _move_body(root, loops, end)
    _run_in_order(made)
    return made


def _bound_loops(root: ir.Operation) -> list[ForOp]:
    """The loops around a kernel that are bound to axes of the launch, outermost first."""
    loops: list[ForOp] = []
    view = root.opview
    while isinstance(view, ForOp) and (nest.thread_axis(view) or "") in AXES:
        loops.append(view)
        inner = list(view.block.operations)
        if len(inner) != 1:
            break
        view = inner[0]
    return loops


def _annotations(loops: list[ForOp]) -> dict[str, ir.Attribute]:
    """What the program says of all that is inside of its threads, such as pragmas of unrolling."""
    return {
        named.name: named.attr
        for loop in loops
        if "annotations" in loop.operation.attributes
        for named in ir.DictAttr(loop.operation.attributes["annotations"])
    }


def _move_body(root: ir.Operation, loops: list[ForOp], end: ir.Operation) -> None:
    if not loops:
        root.move_before(end)
        return
    for view in list(loops[-1].block.operations):
        view.operation.move_before(end)
    root.erase()


def _as_value(size: int | ir.Value) -> ir.Value:
    return arith.constant(ir.IndexType.get(), size) if isinstance(size, int) else size


def _check_sizes(
    root: ir.Operation, sizes: Mapping[str, int | ir.Value], limits: DeviceLimits
) -> None:
    """Raises CompileError for a launch that the device refuses."""
    name, threads = function_name(root), 1
    for axis, size in sizes.items():
        if not isinstance(size, int):
            continue
        most = limits.largest(axis)
        if size > most:
            raise CompileError(
                f"{name}: {axis} has {size} {_GROUPS[axis.partition('.')[0]]}, the device allows "
                f"{most}",
                hint="split the loop and bind the outer part to blockIdx",
            )
        threads *= size if axis.startswith("threadIdx") else 1
    if threads > limits.max_threads_per_block:
        shape = " x ".join(str(size) for axis, size in sizes.items() if axis.startswith("thread"))
        raise CompileError(
            f"{name}: a block of {shape} = {threads} threads, the device allows "
            f"{limits.max_threads_per_block}",
            hint="bind smaller loops to threadIdx",
        )


def _run_in_order(launch: ir.Operation) -> None:
    """Inside of a thread, loops run one iteration after the other: parallel ones too, and virtual
    threads that nothing has distributed."""
    for op in inside(launch):
        view = op.opview
        if not isinstance(view, ForOp):
            continue
        if view.kind.value == "parallel":
            op.attributes["kind"] = ir.StringAttr.get("serial")
        elif (nest.thread_axis(view) or "").startswith(VIRTUAL):
            del op.attributes["thread"]
            op.attributes["kind"] = ir.StringAttr.get("unrolled")
