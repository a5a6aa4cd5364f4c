"""`gpu-launch-to-runtime`: host code asks the runtime to launch kernels and to allocate.

Which device runs is decided when the compiled module is loaded: its host code calls through a table
of functions that `__relax_set_device` (`host_device.py`) has been given, and launches kernels by
their handles, which are in the order of the module attribute `relax.device_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.align_vectors import ALIGNED
from relax_mlir.lowering.tir_to_gpu.flatten_kernel_arguments import rebuild
from relax_mlir.lowering.tir_to_gpu.host_device import (
    ALLOC,
    DEVICE_KERNELS,
    FREE,
    LAUNCH,
    device_text,
)
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules, kernels_of
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, symbol_name
from relax_mlir.mlir import arith, dynamic, ir, memref, operations_named

__all__ = ["LaunchToRuntime"]


@register_pass("gpu-launch-to-runtime")
@dataclass(frozen=True)
class LaunchToRuntime(Pass):
    """Turn launches and allocations of host code into calls of the runtime; kernels are removed."""

    def run(self, state: ModuleState) -> None:
        kernels = kernels_of(state)
        names = [symbol_name(kernel) for kernel in kernels]
        _add(state, device_text())
        for function in state.functions():
            for op in operations_named(function, _HANDLERS):
                with ir.InsertionPoint(op), op.location:
                    _HANDLERS[op.name](op, function, kernels)
        for module in kernel_modules(state):
            module.erase()
        attributes = state.module.operation.attributes
        attributes[DEVICE_KERNELS] = ir.ArrayAttr.get([ir.StringAttr.get(n) for n in names])
        if "gpu.container_module" in attributes:
            del attributes["gpu.container_module"]


def _add(state: ModuleState, text: str) -> None:
    made = ir.Module.parse(text)
    present = {
        symbol_name(op.operation)
        for op in state.module.body.operations
        if "sym_name" in op.operation.attributes
    }
    for op in list(made.body.operations):
        if symbol_name(op.operation) not in present:
            op.operation.detach_from_parent()
            state.module.body.append(op)


def _i64(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)


def _pointer() -> ir.Type:
    return ir.Type.parse("!llvm.ptr")


def _as_i64(value: ir.Value) -> ir.Value:
    wide = ir.IntegerType.get_signless(64)
    if isinstance(value.type, ir.IndexType):
        return arith.index_cast(wide, value)
    return value if value.type == wide else arith.extui(wide, value)


def _call(callee: str, operands: Sequence[ir.Value], result: ir.Type | None) -> ir.Operation:
    return ir.Operation.create(
        "llvm.call",
        results=[] if result is None else [result],
        operands=list(operands),
        attributes={
            "callee": ir.FlatSymbolRefAttr.get(callee),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        },
    )


def _stack(function: ir.Operation, kind: ir.Type, count: int = 1) -> ir.Value:
    """Room on the stack for the time of the call: launches may be in loops."""
    with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
        size = arith.constant(ir.IntegerType.get_signless(32), count)
        return ir.Operation.create(
            "llvm.alloca",
            results=[_pointer()],
            operands=[size],
            attributes={"elem_type": ir.TypeAttr.get(kind)},
        ).result


def _launch(op: ir.Operation, function: ir.Operation, kernels: Sequence[ir.Operation]) -> None:
    function.attributes[MAY_RAISE] = ir.UnitAttr.get()
    segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    operands = list(op.operands)
    sizes = [_as_i64(v) for v in operands[:6]]
    shared = _as_i64(operands[6]) if segments[10] else _i64(0)
    arguments = operands[6 + segments[10] :]
    array = _stack(function, _pointer(), max(1, len(arguments)))
    for number, argument in enumerate(arguments):
        value = _as_i64(argument) if isinstance(argument.type, ir.IndexType) else argument
        slot = _stack(function, value.type)
        ir.Operation.create("llvm.store", operands=[value, slot])
        place = ir.Operation.create(
            "llvm.getelementptr",
            results=[_pointer()],
            operands=[array],
            attributes={
                "elem_type": ir.TypeAttr.get(_pointer()),
                "rawConstantIndices": ir.DenseI32ArrayAttr.get([number]),
                "noWrapFlags": ir.Attribute.parse("0 : i32"),
            },
        ).result
        ir.Operation.create("llvm.store", operands=[slot, place])
    names = [symbol_name(kernel) for kernel in kernels]
    number = names.index(list(ir.SymbolRefAttr(op.attributes["kernel"]).value)[-1])
    misaligned = _misaligned(arguments, kernels[number])
    _call(LAUNCH, [_i64(number), *sizes, shared, array, misaligned], None)
    op.erase()


def _misaligned(arguments: Sequence[ir.Value], kernel: ir.Operation) -> ir.Value:
    """Nonzero when an address is not aligned as the kernel wants it."""
    total = _i64(0)
    if "arg_attrs" not in kernel.attributes:
        return total
    wide = ir.IntegerType.get_signless(64)
    for argument, entry in zip(
        arguments, ir.ArrayAttr(kernel.attributes["arg_attrs"]), strict=True
    ):
        attributes = ir.DictAttr(entry)
        if ALIGNED in attributes:
            mask = _i64(ir.IntegerAttr(attributes[ALIGNED]).value - 1)
            made = ir.Operation.create("llvm.ptrtoint", results=[wide], operands=[argument])
            total = arith.ori(total, arith.andi(made.result, mask))
    return total


def _alloc(op: ir.Operation, function: ir.Operation, kernels: Sequence[ir.Operation]) -> None:
    function.attributes[MAY_RAISE] = ir.UnitAttr.get()
    kind = ir.MemRefType(op.results[0].type)
    given = [_as_i64(v) for v in op.operands]
    bits = dtypes.bits(dtypes.from_mlir(kind.element_type))
    size = _i64(max(1, bits // 8))
    rest = iter(given)
    for extent in kind.shape:
        size = arith.muli(size, next(rest) if extent == dynamic() else _i64(extent))
    data = _call(ALLOC, [size], _pointer()).result
    op.results[0].replace_all_uses_with(rebuild(kind, [data, *given]))
    op.erase()


def _dealloc(op: ir.Operation, function: ir.Operation, kernels: Sequence[ir.Operation]) -> None:
    index = memref.extract_aligned_pointer_as_index(op.operands[0])
    address = arith.index_cast(ir.IntegerType.get_signless(64), index)
    data = ir.Operation.create("llvm.inttoptr", results=[_pointer()], operands=[address]).result
    _call(FREE, [data], None)
    op.erase()


_HANDLERS = {"gpu.launch_func": _launch, "gpu.alloc": _alloc, "gpu.dealloc": _dealloc}
