"""The memory of the buffers that kernels use, by their storage scope."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.errors import CompileError
from relax_mlir.lowering.tir_to_gpu.kernel_roots import (
    describe,
    function_name,
    inside,
    is_at_or_inside,
)
from relax_mlir.mlir import dynamic, ir, memref

__all__ = [
    "DYNAMIC",
    "WORKGROUP",
    "is_private_buffer",
    "is_private_scope",
    "is_workgroup",
    "place_buffers",
    "spread_space",
    "workgroup_space",
]

WORKGROUP = "#gpu.address_space<workgroup>"
DYNAMIC = "gpu.dynamic"
"""Marks a workgroup allocation whose size is given at the launch (scope `shared.dyn`)."""

_THREAD = ("local", "wmma", "m16n8k8", "warp", "metal")


def is_private_scope(scope: str) -> bool:
    """Whether every thread has its own of a buffer of this scope."""
    return scope.startswith(_THREAD)


def is_private_buffer(buffer: ir.Value) -> bool:
    """Whether every thread has a buffer, before it is placed, to itself."""
    owner = buffer.owner
    if isinstance(owner, ir.Block) or "scope" not in owner.operation.attributes:
        return False
    return is_private_scope(ir.StringAttr(owner.operation.attributes["scope"]).value)


def workgroup_space() -> ir.Attribute:
    """The memory space that the threads of a block share."""
    return ir.Attribute.parse(WORKGROUP)


def is_workgroup(kind: ir.Type) -> bool:
    """Whether a type is a buffer in shared memory."""
    return isinstance(kind, ir.MemRefType) and str(kind.memory_space) == WORKGROUP


def place_buffers(function: ir.Operation, launches: Sequence[ir.Operation]) -> None:
    """Replace every `tir.alloc_buffer` of a function by an allocation in the memory of its scope.

    Raises CompileError for a buffer of threads that is used in several kernels or has no fixed
    size, and for an unknown scope.
    """
    found = [op for op in inside(function) if op.name == "tir.alloc_buffer"]
    for op in found:
        scope = ir.StringAttr(op.attributes["scope"]).value
        if scope in ("global", ""):
            _place_on_device(op, launches)
        else:
            _place_in_kernel(op, scope, _launch_of(op, scope, launches))


def _launch_of(
    op: ir.Operation, scope: str, launches: Sequence[ir.Operation]
) -> ir.Operation | None:
    """The one launch that uses a buffer; None when nothing does."""
    users = [use.owner.operation for use in op.results[0].uses]
    found = [x for x in launches if any(is_at_or_inside(user, x) for user in users)]
    outside = [u for u in users if not any(is_at_or_inside(u, x) for x in launches)]
    if len(found) > 1 or (found and outside):
        raise CompileError(
            f"{function_name(op)}: the buffer {describe(op.results[0])} of scope '{scope}' is used "
            f"by {max(2, len(found))} kernels; only buffers of scope 'global' outlive a kernel",
            hint="put the loops that use it under one loop bound to blockIdx, or allocate it "
            "with scope 'global'",
        )
    return found[0] if found else None


def _place_in_kernel(op: ir.Operation, scope: str, launch: ir.Operation | None) -> None:
    if launch is None:
        _erase_with_users(op)
        return
    buffer = op.results[0]
    kind = ir.MemRefType(buffer.type)
    shared = scope.startswith("shared")
    if not shared and not is_private_scope(scope):
        raise CompileError(
            f"{function_name(op)}: buffer {describe(buffer)} has the unknown scope '{scope}'",
            hint="one of global, shared, shared.dyn, local, warp",
        )
    if dynamic() in kind.shape:
        raise CompileError(
            f"{function_name(op)}: the buffer {describe(buffer)} of scope '{scope}' has a size "
            "that is not known when the kernel is compiled",
            hint="buffers of threads and blocks need fixed sizes: split the loops they are "
            "computed at by constants",
        )
    space = workgroup_space() if shared else None
    placed = ir.MemRefType.get(kind.shape, kind.element_type, kind.layout, space)
    body = launch.regions[0].blocks[0]
    made = memref.AllocaOp(
        placed, [], [], loc=buffer.location, ip=ir.InsertionPoint.at_block_begin(body)
    ).operation
    if scope == "shared.dyn":
        made.attributes[DYNAMIC] = ir.UnitAttr.get()
    _replace(op, made.results[0])


def _place_on_device(op: ir.Operation, launches: Sequence[ir.Operation]) -> None:
    """Memory of the device that lives for the call of the host function."""
    home = next((x for x in launches if is_at_or_inside(op, x)), None)
    buffer = op.results[0]
    at = ir.InsertionPoint(op if home is None else home)
    if home is not None and any(_is_made_in(v, home) for v in op.operands):
        raise CompileError(
            f"{function_name(op)}: the size of the buffer {describe(buffer)} is computed inside of "
            "the kernel that uses it",
            hint="allocate it with a size that follows from the arguments' sizes",
        )
    sizes = list(op.operands)
    made = ir.Operation.create(
        "gpu.alloc",
        results=[buffer.type],
        operands=sizes,
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, len(sizes), 0])},
        loc=buffer.location,
        ip=at,
    )
    ir.Operation.create(
        "gpu.dealloc",
        operands=[made.results[0]],
        loc=op.location if home is None else home.location,
        ip=_end_of(made.block),
    )
    _replace(op, made.results[0])


def _end_of(block: ir.Block) -> ir.InsertionPoint:
    """Behind all that a block does: the bodies of TensorIR's blocks have no terminator."""
    last = block.operations[len(block.operations) - 1]
    if last.operation.name in ("func.return", "scf.yield"):
        return ir.InsertionPoint(last)
    return ir.InsertionPoint(block)


def _is_made_in(value: ir.Value, launch: ir.Operation) -> bool:
    owner = value.owner
    op = owner.owner if isinstance(owner, ir.Block) else owner
    return is_at_or_inside(op.operation, launch)


def _replace(op: ir.Operation, buffer: ir.Value) -> None:
    """Use another buffer instead of an allocation's, views of it in its memory space too."""
    op.results[0].replace_all_uses_with(buffer)
    op.erase()
    spread_space(buffer)


def spread_space(buffer: ir.Value) -> None:
    """Give the views of a buffer its memory space."""
    space = ir.MemRefType(buffer.type).memory_space
    for use in list(buffer.uses):
        for result in use.owner.operation.results:
            if not isinstance(result.type, ir.MemRefType):
                continue
            kind = ir.MemRefType(result.type)
            # As text: the bindings do not compare an attribute with None.
            if str(kind.memory_space) != str(space):
                result.set_type(
                    ir.MemRefType.get(kind.shape, kind.element_type, kind.layout, space)
                )
                spread_space(result)


def _erase_with_users(op: ir.Operation) -> None:
    """Erase a buffer that only declarations mention."""
    for use in list(op.results[0].uses):
        use.owner.operation.erase()
    op.erase()
