"""`gpu-plan-shared-memory`: dynamic shared memory, and buffers that take turns in it.

Buffers of scope `shared` are static as long as all of them fit what a kernel may declare (48 KiB
on NVIDIA's GPUs).  Those of scope `shared.dyn`, and all of them where they do not fit, are parts of
the one dynamic buffer whose size the launch gives.  There, buffers that are not in use at the same
time have the same place (TVM: MergeSharedMemoryAllocations); `gpu-insert-barriers`, which comes
after, keeps the threads that still use the one from those that use the next.  Where a launch gives
no size (OpenCL), that buffer is a static one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import DYNAMIC, is_workgroup, workgroup_space
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.lowering.tir_to_gpu.memory_accesses import buffer_bytes
from relax_mlir.lowering.tir_to_gpu.swizzle_shared_memory import MATRIX_ALIGNMENT, matrices
from relax_mlir.mlir import arith, ir, memref, operations_named

__all__ = ["PlanSharedMemory"]

_ALIGNMENT = 16
_DYNAMIC_SIZE = 10
"""Position of the dynamic size in the operand segments of gpu.launch."""


@register_pass("gpu-plan-shared-memory")
@dataclass(frozen=True)
class PlanSharedMemory(Pass):
    """Check how much shared memory kernels use, and lay dynamic shared memory out."""

    def run(self, state: ModuleState) -> None:
        limits = DeviceLimits.of(state.target)
        for function in state.functions():
            for op in operations_named(function, ["gpu.launch"]):
                _plan(op, limits)


@dataclass
class _Buffer:
    """An allocation; in use from the first to the last of the kernel's top statements."""

    op: ir.Operation
    size: int
    first: int
    last: int
    alignment: int = _ALIGNMENT
    offset: int = 0


def _plan(launch: ir.Operation, limits: DeviceLimits) -> None:
    body = launch.regions[0].blocks[0]
    found = [
        o.operation
        for o in body.operations
        if o.operation.name == "memref.alloca" and is_workgroup(o.operation.results[0].type)
    ]
    static = [op for op in found if DYNAMIC not in op.attributes]
    total = sum(_rounded(buffer_bytes(op.results[0].type)) for op in static)
    chosen = found if total > limits.static_shared_bytes else [o for o in found if o not in static]
    if not chosen:
        return
    swizzled = matrices(launch)
    buffers = [_use_of(op, body, op.results[0] in swizzled) for op in chosen]
    size = _lay_out(buffers)
    fixed = total if chosen != found else 0
    if size + fixed > limits.max_shared_bytes:
        parts = ", ".join(f"{describe(b.op.results[0])} {b.size}" for b in buffers)
        raise CompileError(
            f"{function_name(launch)}: a block uses {size + fixed} bytes of shared memory "
            f"({parts}), the device has {limits.max_shared_bytes}",
            hint="use smaller tiles",
        )
    _rewrite(buffers, size, launch, limits)


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _use_of(op: ir.Operation, body: ir.Block, is_matrix: bool) -> _Buffer:
    statements = [o.operation for o in body.operations]
    places: list[int] = []
    pending = [op.results[0]]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            pending += [r for r in user.results if isinstance(r.type, ir.MemRefType)]
            while user.block != body:
                assert user.parent is not None, "a buffer is used in its kernel"
                user = user.parent.operation
            places.append(statements.index(user))
    size, alignment = _rounded(buffer_bytes(op.results[0].type)), _ALIGNMENT
    if is_matrix:
        alignment = MATRIX_ALIGNMENT
    return _Buffer(op, size, min(places), max(places), alignment)


def _lay_out(buffers: Sequence[_Buffer]) -> int:
    """Give each buffer the lowest place that no buffer in use with it has; the bytes in all."""
    placed: list[_Buffer] = []
    for buffer in sorted(buffers, key=lambda b: (-b.size, b.first)):
        others = sorted(
            (b for b in placed if b.first <= buffer.last and buffer.first <= b.last),
            key=lambda b: b.offset,
        )
        offset = 0
        for other in others:
            if offset + buffer.size <= other.offset:
                break
            end = max(offset, other.offset + other.size)
            offset = -(-end // buffer.alignment) * buffer.alignment
        buffer.offset = offset
        placed.append(buffer)
    return max(b.offset + b.size for b in buffers)


def _rewrite(
    buffers: Sequence[_Buffer], size: int, launch: ir.Operation, limits: DeviceLimits
) -> None:
    body = launch.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(body), launch.location:
        raw = _dynamic() if limits.has_dynamic_shared else _static(size)
    for buffer in buffers:
        with ir.InsertionPoint(buffer.op), buffer.op.location:
            shift = arith.constant(ir.IndexType.get(), buffer.offset)
            view = ir.Operation.create(
                "memref.view",
                results=[buffer.op.results[0].type],
                operands=[raw, shift],
            )
        buffer.op.results[0].replace_all_uses_with(view.results[0])
        buffer.op.erase()
    if limits.has_dynamic_shared:
        _set_size(launch, size)


def _dynamic() -> ir.Value:
    return ir.Operation.create(
        "gpu.dynamic_shared_memory",
        results=[ir.Type.parse("memref<?xi8, #gpu.address_space<workgroup>>")],
    ).results[0]


def _static(size: int) -> ir.Value:
    i8 = ir.IntegerType.get_signless(8)
    return memref.alloca(ir.MemRefType.get([size], i8, None, workgroup_space()), [], [])


def _set_size(launch: ir.Operation, size: int) -> None:
    """Give a launch the size of its dynamic shared memory."""
    segments = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    segments[_DYNAMIC_SIZE] = 1
    with ir.InsertionPoint(launch), launch.location:
        amount = arith.constant(ir.IntegerType.get_signless(32), size)
        made = ir.Operation.create(
            "gpu.launch",
            operands=[*launch.operands, amount],
            attributes={
                **{name: launch.attributes[name] for name in launch.attributes},
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
            },
            regions=1,
        )
    launch.regions[0].blocks[0].append_to(made.regions[0])
    launch.erase()
