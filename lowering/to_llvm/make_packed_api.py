"""`tir-make-packed-api`: functions of the TVM FFI around TensorIR functions (TVM: MakePackedAPI).

A public function `@f` on memrefs and scalars gets an exported `@__tvm_ffi_f` that checks and
unpacks its arguments and calls it; the function itself becomes internal to the module under a name
that no library has (a kernel called `exp` must not be taken for libm's).
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.errors import CompileError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.host_device import DEVICE_KERNELS
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, KIND
from relax_mlir.lowering.to_llvm.ffi_arguments import (
    ArgumentReader,
    ScalarSpec,
    TensorValue,
    compact_strides,
)
from relax_mlir.lowering.to_llvm.ffi_dims import DimensionValues
from relax_mlir.lowering.to_llvm.ffi_signature import (
    MAY_RAISE,
    is_prim_func,
    is_private,
    read_signature,
    symbol_name,
)
from relax_mlir.lowering.to_llvm.ffi_support import DECLARATIONS, SUPPORT_SYMBOLS
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, ModuleText
from relax_mlir.mlir import ir, operations_named

__all__ = [
    "FFI_PREFIX", "KERNEL_SUFFIX", "MakePackedAPI", "add_text", "kernel_argument", "kernel_symbols",
]  # fmt: skip

FFI_PREFIX = "__tvm_ffi_"
KERNEL_SUFFIX = "__kernel"

FFI_HEADER = "(%handle: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32"


@register_pass("tir-make-packed-api")
@dataclass(frozen=True)
class MakePackedAPI(Pass):
    """Export public TensorIR functions under the TVM FFI's calling convention."""

    def run(self, state: ModuleState) -> None:
        functions = [op for op in state.functions() if is_prim_func(op)]
        text = ModuleText()
        on_device = DEVICE_KERNELS in state.module.operation.attributes
        for op in functions:
            if not is_private(op):
                _write_wrapper(text, op, on_device)
        hide_kernels(state)
        add_text(state, text)


def kernel_symbols(state: ModuleState) -> dict[str, ir.Operation]:
    """The TensorIR functions of a module by TVM's name, hidden or not."""
    return {
        symbol_name(op).removesuffix(KERNEL_SUFFIX): op
        for op in state.functions()
        if is_prim_func(op)
    }


def hide_kernels(state: ModuleState) -> None:
    """Make TensorIR functions internal under names of their own, and calls of them follow."""
    internal = ir.Attribute.parse("#llvm.linkage<internal>")
    renamed: dict[str, str] = {}
    for op in state.functions():
        name = symbol_name(op)
        if not is_prim_func(op) or name.endswith(KERNEL_SUFFIX):
            continue
        renamed[name] = name + KERNEL_SUFFIX
        op.attributes["sym_name"] = ir.StringAttr.get(renamed[name])
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        op.attributes["llvm.linkage"] = internal

    for op in operations_named(state.module.operation, ("func.call",)):
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        if callee in renamed:
            op.attributes["callee"] = ir.FlatSymbolRefAttr.get(renamed[callee])


def _write_wrapper(module: ModuleText, op: ir.Operation, on_device: bool) -> None:
    name = symbol_name(op)
    specs = read_signature(op)
    kinds = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs
    text = FunctionText(module, f"func.func @{FFI_PREFIX}{name}{FFI_HEADER}")
    reader = ArgumentReader(text, name, DimensionValues(text), on_device=on_device)
    reader.check_count("%count", [spec.name for spec in specs])
    operands: list[str] = []
    for index, (spec, kind) in enumerate(zip(specs, kinds, strict=True)):
        slot = text.field("%args", ANY, index)
        where = f"{name}: argument {index} '{spec.name}': "
        if isinstance(spec, ScalarSpec):
            operands.append(_as_index(text, reader.scalar(slot, spec, where), kind))
        else:
            operands.append(kernel_argument(text, reader.tensor(slot, spec, where), kind))
    reader.finish()
    types = ", ".join(str(kind) for kind in kinds)
    returned = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).results
    call = f"func.call @{name}{KERNEL_SUFFIX}({', '.join(operands)}) : ({types}) -> "
    if returned:
        _give(text, text.value(f"{call}{returned[0]}"), returned[0])
    else:
        text.line(f"{call}()")
    status = text.constant(0, "i32")
    if MAY_RAISE in op.attributes:
        status = text.call("relax_ffi_pending_error", [], [], "i32")
    text.line(f"return {status} : i32")
    text.finish()


def _give(text: FunctionText, value: str, kind: ir.Type) -> None:
    """Write a number that a function returns (`T.ret`) to the result's Any."""
    if isinstance(kind, ir.FloatType):
        if kind.width < 64:
            value = text.value(f"arith.extf {value} : {kind} to f64")
        payload, name = text.value(f"arith.bitcast {value} : f64 to i64"), "float"
    elif isinstance(kind, ir.IndexType):
        payload, name = text.value(f"arith.index_cast {value} : index to i64"), "int"
    elif isinstance(kind, ir.IntegerType):
        name = "bool" if kind.width == 1 else "int"
        extend = "extui" if kind.width == 1 else "extsi"
        wider = kind.width < 64
        payload = text.value(f"arith.{extend} {value} : {kind} to i64") if wider else value
    else:
        raise CompileError(f"a primitive function returns a number, not {kind}")
    text.store(text.constant(KIND[name], "i32"), text.field("%result", ANY, 0, 0), "i32")
    text.store(payload, text.field("%result", ANY, 0, 2), "i64")


def _as_index(text: FunctionText, value: str, kind: ir.Type) -> str:
    if isinstance(kind, ir.IndexType):
        return text.value(f"arith.index_cast {value} : i64 to index")
    return value


def kernel_argument(text: FunctionText, value: TensorValue, kind: ir.Type) -> str:
    """The memref of type `kind` that a kernel takes for a tensor."""
    strides = value.strides or compact_strides(text, value.sizes)
    return text.memref(value.data, value.sizes, strides, str(kind))


def add_text(state: ModuleState, text: ModuleText) -> None:
    """Parse host functions and add them to the module, with the declarations they need."""
    present = {
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in state.module.body.operations
        if "sym_name" in op.operation.attributes
    }
    declarations = [
        f"llvm.func @{name}{kind}" for name, kind in {**DECLARATIONS, **SUPPORT_SYMBOLS}.items()
    ]
    stubs = [
        f"func.func private @{symbol_name(op)}{_signature_text(op)}"
        for op in state.functions()
        if is_prim_func(op)
    ]
    source = str(text).replace("module {", "module {\n" + "\n".join(declarations + stubs), 1)
    made = ir.Module.parse(source)
    for op in list(made.body.operations):
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if name not in present:
            op.operation.detach_from_parent()
            state.module.body.append(op)


def _signature_text(op: ir.Operation) -> str:
    kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    results = f" -> {kind.results[0]}" if kind.results else ""
    return f"({', '.join(map(str, kind.inputs))}){results}"
