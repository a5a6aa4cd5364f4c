"""`relax-to-host`: each Relax function becomes one compiled host function.

Operators must have become calls of TensorIR functions, and those may already be lowered to loops
and vectors.  `@main` is replaced by `@__tvm_ffi_main`, which checks its arguments, computes
symbolic sizes, allocates results as DLPack tensors and temporaries in one planned workspace, calls
kernels directly and registered functions through the TVM FFI.  Constants are read through a table
of tensor objects that is filled when the code is loaded: the module attribute
`relax.constant_table` lists their keys, `__tvm_ffi___relax_set_constants` takes the tensors.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax_to_host import (  # noqa: F401 (they file handlers)
    calls,
    closures,
    effects,
    shapes,
    structure,
    views,
)
from relax_mlir.lowering.relax_to_host.device_objects import (
    DEVICE_SYMBOLS,
    add_device_objects,
    is_for_device,
)
from relax_mlir.lowering.relax_to_host.host_function import (
    CONSTANTS,
    HostContext,
    HostFunction,
)
from relax_mlir.lowering.relax_to_host.parameters import read_parameters
from relax_mlir.lowering.to_llvm.ffi_abi import ANY
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, ModuleText
from relax_mlir.lowering.to_llvm.make_packed_api import (
    FFI_HEADER,
    FFI_PREFIX,
    add_text,
    hide_kernels,
    kernel_symbols,
)
from relax_mlir.mlir import ir

__all__ = ["CONSTANT_TABLE", "SET_CONSTANTS", "RelaxToHost"]

CONSTANT_TABLE = "relax.constant_table"
SET_CONSTANTS = "__relax_set_constants"


@register_pass("relax-to-host")
@dataclass(frozen=True)
class RelaxToHost(Pass):
    """Replace Relax functions by host functions of the TVM FFI."""

    profile: bool = False
    """Tell the registered functions `relax_mlir.profile.start` and `.stop` of every call."""

    def run(self, state: ModuleState) -> None:
        functions = {
            symbol_name(op): op for op in state.functions() if "relax.attrs" in op.attributes
        }
        if not functions:
            return
        hide_kernels(state)
        context = HostContext(
            ModuleText(), kernel_symbols(state), functions, state.constants, profile=self.profile
        )
        context.on_device = is_for_device(state)
        context.text.declare(CONSTANTS, "")
        if context.on_device:
            for name, kind in DEVICE_SYMBOLS.items():
                context.text.declare(name, f"llvm.func @{name}{kind}")
        for op in functions.values():
            host = HostFunction(context, op)
            read_parameters(host)
            host.write_body()
        _write_constant_table(context)
        for op in functions.values():
            op.erase()
        if context.on_device:
            add_device_objects(state)
        add_text(state, context.text)
        keys = [ir.StringAttr.get(key) for key in context.table]
        state.module.operation.attributes[CONSTANT_TABLE] = ir.ArrayAttr.get(keys)


def _write_constant_table(context: HostContext) -> None:
    """The table of constant tensors, and the function that fills it."""
    count = len(context.table)
    if not count:
        return
    context.text.redeclare(
        CONSTANTS,
        f"llvm.mlir.global internal @{CONSTANTS}() {{addr_space = 0 : i32}} : "
        f"!llvm.array<{count} x ptr> {{\n"
        f"  %zero = llvm.mlir.zero : !llvm.array<{count} x ptr>\n"
        f"  llvm.return %zero : !llvm.array<{count} x ptr>\n}}",
    )
    text = FunctionText(context.text, f"func.func @{FFI_PREFIX}{SET_CONSTANTS}{FFI_HEADER}")
    table = text.address(CONSTANTS)
    for index in range(count):
        tensor = text.load(text.field("%args", ANY, index, 2), "!llvm.ptr")
        text.store(tensor, text.offset(table, 8 * index), "!llvm.ptr")
    text.line(f"return {text.constant(0, 'i32')} : i32")
    text.finish()
