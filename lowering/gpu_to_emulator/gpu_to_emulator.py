"""`gpu-to-emulator`: the kernels of GPU modules as functions that the emulator runs on the CPU.

Each kernel `gpu.func @k` becomes `func.func @k(args, state, thread)`: the code of one thread, whose
arguments are read from an array of pointers to their values, as a CUDA driver takes them.  Shared
memory, thread numbers and barriers go through the state of the launch (`layout.py`); `emu_yield`
marks where a thread stops, which `llvm-coroutines` turns into suspensions.  With `checks`, every
access is checked before it is made.

A memref argument stands for its data pointer, then each dynamic size as an i64.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator import (  # noqa: F401 (they file handlers)
    async_operations,
    buffers,
    checks,
    exchange,
    identifiers,
    matrix,
    subgroup_matrices,
    warpgroup_matrices,
)
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import (
    HANDLERS,
    YIELD,
    KernelWriter,
    Site,
    buffer_name,
    strip,
)
from relax_mlir.lowering.gpu_to_emulator.support import EMULATOR_SYMBOLS
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import arith, dynamic, func, ir, llvm

__all__ = [
    "ARGUMENTS", "LOCAL_BYTES", "SHARED_BYTES", "SITES", "WRITTEN", "GpuToEmulator", "is_kernel",
]  # fmt: skip

SITES = "emulator.sites"
SHARED_BYTES = "emulator.shared_bytes"
LOCAL_BYTES = "emulator.local_bytes"
ARGUMENTS = "emulator.arguments"
WRITTEN = "emulator.written"
_KERNEL = ("kernel", "gpu.kernel")


@register_pass("gpu-to-emulator")
@dataclass(frozen=True)
class GpuToEmulator(Pass):
    """Turn the kernels of GPU modules into functions of one thread of the emulator."""

    checks: bool = True

    def run(self, state: ModuleState) -> None:
        module = state.module
        modules = [op for op in module.body.operations if op.operation.name == "gpu.module"]
        if not modules:
            return
        sites: list[Site] = []
        with ir.InsertionPoint(module.body):
            _declare()
            for gpu_module in modules:
                for op in list(gpu_module.operation.regions[0].blocks[0].operations):
                    if is_kernel(op.operation):
                        _convert_kernel(op.operation, self.checks, sites)
                    elif op.operation.name == "memref.global":
                        op.operation.detach_from_parent()
                        module.body.append(op)
                gpu_module.operation.erase()
        attributes = module.operation.attributes
        attributes[SITES] = ir.ArrayAttr.get([site.attribute() for site in sites])
        if "gpu.container_module" in attributes:
            del attributes["gpu.container_module"]


def is_kernel(op: ir.Operation) -> bool:
    """True for a function that is launched."""
    return op.name == "gpu.func" and any(name in op.attributes for name in _KERNEL)


def _declare() -> None:
    i64 = ir.IntegerType.get_signless(64)
    func.FuncOp(YIELD, ([i64], []), visibility="private")
    for name, count in EMULATOR_SYMBOLS.items():
        func.FuncOp(name, ([i64] * count, [i64]), visibility="private")


def _convert_kernel(op: ir.Operation, checked: bool, sites: list[Site]) -> None:
    name = ir.StringAttr(op.attributes["sym_name"]).value
    ptr, i64 = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    made = func.FuncOp(name, ([ptr, ptr, i64], [ptr]))
    entry = made.add_entry_block()
    source = op.regions[0]
    with ir.InsertionPoint(entry), op.location:
        arguments, state, thread = entry.arguments
        marker = arith.ConstantOp(ir.IndexType.get(), 0)
        writer = KernelWriter(name, made.operation, marker.operation, state, thread, checked, sites)
        with ir.InsertionPoint(marker):
            values = _read_arguments(writer, op, arguments)
        for old, new in zip(source.blocks[0].arguments, values, strict=True):
            old.replace_all_uses_with(new)
    blocks = list(source.blocks)
    for inner in list(blocks[0].operations):
        inner.operation.detach_from_parent()
        entry.append(inner)
    for block in blocks[1:]:
        block.append_to(made.operation.regions[0])
    _convert_operations(writer)
    attributes = made.operation.attributes
    attributes[SHARED_BYTES] = ir.IntegerAttr.get(i64, writer.shared_bytes)
    attributes[WRITTEN] = ir.DenseI64ArrayAttr.get(sorted(writer.written))
    attributes[LOCAL_BYTES] = ir.IntegerAttr.get(i64, writer.local_bytes)
    if "known_block_size" in op.attributes:
        attributes["emulator.block_size"] = op.attributes["known_block_size"]


def _read_arguments(writer: KernelWriter, op: ir.Operation, arguments: ir.Value) -> list[ir.Value]:
    """What the arguments of a kernel stand for, in the order of its entry block."""
    function_type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    inputs = len(function_type.inputs)
    shared = 0
    if "workgroup_attributions" in op.attributes:
        shared = ir.IntegerAttr(op.attributes["workgroup_attributions"]).value
    given: list[ir.Attribute] = []

    def argument(kind: ir.Type) -> ir.Value:
        pointer = llvm.load(writer.ptr, writer.offset(arguments, 8 * len(given)))
        passed = {"!llvm.ptr": "ptr", "index": "i64"}.get(str(kind), str(kind))
        given.append(ir.StringAttr.get(passed))
        if isinstance(kind, ir.IndexType):
            return writer.as_index(llvm.load(writer.i64, pointer))
        value = llvm.load(kind, pointer)
        if passed == "ptr":
            writer.pointers[value] = len(given) - 1
        return value

    values: list[ir.Value] = []
    for number, old in enumerate(op.regions[0].blocks[0].arguments):
        if number >= inputs:
            place = buffers.place_shared if number < inputs + shared else buffers.place_local
            values.append(place(writer, op, old))
            continue
        kind = strip(old.type)
        if isinstance(kind, ir.MemRefType):
            pointer = argument(writer.ptr)
            sizes = [argument(writer.i64) for size in kind.shape if size == dynamic()]
            _require_identity(writer, op, kind)
            values.append(writer.memref(pointer, kind, sizes))
        else:
            values.append(argument(kind))
        name = buffer_name(old)
        if name:
            writer.names[values[-1]] = name
    writer.function.attributes[ARGUMENTS] = ir.ArrayAttr.get(given)
    return values


def _require_identity(writer: KernelWriter, op: ir.Operation, kind: ir.MemRefType) -> None:
    if kind.affine_map != ir.AffineMap.get_identity(kind.rank):
        raise writer.error(op, f"an argument of type {kind} must be passed as pointer and strides")


def _convert_operations(writer: KernelWriter) -> None:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    started = False
    for block in writer.function.regions[0].blocks:
        for op in block.operations:
            started = started or op.operation == writer.entry
            if started:
                op.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        for region in op.regions:
            for block in region.blocks:
                for value in block.arguments:
                    _set_type(writer, value)
        _note_space(writer, op)
        if op.name not in _KEPT_TYPES:
            for result in op.results:
                _set_type(writer, result)
        handler = HANDLERS.get(op.name)
        if handler is not None:
            with ir.InsertionPoint(op), op.location:
                handler(writer, op)
        elif op.name.split(".")[0] in ("gpu", "nvgpu", "nvvm", "amdgpu", "rocdl"):
            raise writer.error(op, "the emulator does not know this operation")


def _set_type(writer: KernelWriter, value: ir.Value) -> None:
    """Give a value the type that it has on the CPU."""
    found = subgroup_matrices.matrix_of(value.type)
    if found is None:
        value.set_type(strip(value.type))
        return
    writer.matrices[value] = found
    value.set_type(found.vector)


# Their handlers ask for the memory space.
_KEPT_TYPES = ("memref.alloc", "memref.alloca", "gpu.dynamic_shared_memory")


def _note_space(writer: KernelWriter, op: ir.Operation) -> None:
    """Remember that a rebuilt memref lies in shared memory, before its type is stripped."""
    for result in op.results:
        if op.name not in _KEPT_TYPES and buffers.is_shared(result.type):
            writer.spaces.setdefault(result, "shared")
