"""Which parts of a TensorIR function run on the device, and how their loops are bound.

A kernel is an outermost loop that is bound to a thread axis, with all that is inside of it.  What
touches memory without being bound, at the top of a function that is compiled for a GPU, is a kernel
of one thread: slow, but what the program says.
"""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest

__all__ = [
    "AXES",
    "VIRTUAL",
    "callee_of",
    "describe",
    "function_name",
    "inside",
    "is_at_or_inside",
    "kernel_modules",
    "kernel_roots",
    "kernels_of",
    "loop_name",
    "loops_around",
    "thread_loops",
]

AXES = tuple(f"{group}.{axis}" for group in ("blockIdx", "threadIdx") for axis in "xyz")
"""The axes of a launch, in the order of `gpu.launch`'s sizes."""

VIRTUAL = "vthread"
"""What the axes of virtual threads start with."""

_HOST = ("arith.", "affine.", "math.", "memref.dim", "tir.alloc_buffer", "func.return", "scf.yield")
_ON_HOST_CALLS = ("packed", "extern")


def inside(op: ir.Operation) -> Iterator[ir.Operation]:
    """Every operation inside `op`, in order, parents first."""
    for region in op.regions:
        for block in region.blocks:
            for child in list(block.operations):
                yield child.operation
                yield from inside(child.operation)


def is_at_or_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """True when `op` is `outer` or inside of it."""
    current: ir.Operation | None = op
    while current is not None:
        if current == outer:
            return True
        current = None if current.parent is None else current.parent.operation
    return False


def thread_loops(op: ir.Operation) -> list[ForOp]:
    """The loops at or inside `op` that are bound to a thread axis, outermost first."""
    candidates = [op, *inside(op)]
    views = [o.opview for o in candidates if o.name == "tir.for"]
    return [v for v in views if isinstance(v, ForOp) and nest.thread_axis(v) is not None]


def loops_around(block: ir.OpView) -> list[ForOp]:
    """All loops around a block, outermost first, across other blocks too."""
    loops: list[ForOp] = []
    outer = nest.parent(block)
    while outer is not None:
        if isinstance(outer, ForOp):
            loops.insert(0, outer)
        outer = nest.parent(outer)
    return loops


def kernel_roots(function: ir.Operation) -> list[ir.Operation]:
    """The operations of a function that become kernels, in order."""
    return list(_roots(function.regions[0].blocks[0]))


def _roots(block: ir.Block) -> Iterator[ir.Operation]:
    for view in list(block.operations):
        op = view.operation
        if isinstance(view, ForOp) and nest.thread_axis(view) is not None:
            yield op
        elif op.name.startswith(_HOST) or _is_host_call(op):
            continue
        elif op.regions and thread_loops(op):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _roots(inner)
        elif op.name not in ("tir.read", "tir.write"):
            yield op


def _is_host_call(op: ir.Operation) -> bool:
    kind = ir.StringAttr(op.attributes["kind"]).value if op.name == "tir.call" else ""
    return kind in _ON_HOST_CALLS


def callee_of(op: ir.Operation) -> str:
    """What a `tir.call` calls; empty for another operation."""
    return ir.StringAttr(op.attributes["callee"]).value if op.name == "tir.call" else ""


def function_name(op: ir.Operation) -> str:
    """The name of the function that an operation is in (or of the function)."""
    current = op
    while current.name != "func.func":
        assert current.parent is not None, "a kernel is inside a function"
        current = current.parent.operation
    return ir.StringAttr(current.attributes["sym_name"]).value


def kernels_of(state: ModuleState) -> list[ir.Operation]:
    """The functions of a module's GPU modules, in order."""
    found = [op.operation for module in kernel_modules(state) for op in _body(module).operations]
    return [op for op in found if op.name == "gpu.func"]


def kernel_modules(state: ModuleState) -> list[ir.Operation]:
    """The gpu.module operations of a module, in order."""
    body = state.module.body.operations
    return [op.operation for op in body if op.operation.name == "gpu.module"]


def _body(module: ir.Operation) -> ir.Block:
    return module.regions[0].blocks[0]


def loop_name(loop: ForOp) -> str:
    """A loop's variable for messages."""
    return nest.value_name(nest.loop_var(loop), "?")


def describe(value: ir.Value) -> str:
    """A buffer's or variable's name for messages."""
    return name_of(value) or value.get_name()
