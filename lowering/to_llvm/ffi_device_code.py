"""The kernels of an exported library: text in its data section, and functions that hand it out.

`__relax_device_code()` returns a string, `__relax_constant(number)` a constant of the library's
table; whoever loads the library makes kernels of the one and puts the other on the device.
"""

from __future__ import annotations

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_host.host_function import CONSTANTS
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, KIND
from relax_mlir.lowering.to_llvm.ffi_text import quote
from relax_mlir.mlir import PassManager, ir

__all__ = ["CONSTANT", "DEVICE_CODE", "add_device_code"]

DEVICE_CODE = "__relax_device_code"
CONSTANT = "__relax_constant"
_HEADER = "(%handle: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32"
_TEXT = "__relax_device_text"


def add_device_code(state: ModuleState, code: str, constants: int) -> None:
    """Add both functions to a module in the llvm dialect; `constants` is the size of its table."""
    present = {
        ir.StringAttr(op.attributes["sym_name"]).value
        for op in state.module.body.operations
        if "sym_name" in op.operation.attributes
    }
    made = ir.Module.parse(_code_text(code) + (_constant_text(constants) if constants else ""))
    PassManager.parse("builtin.module(canonicalize)").run(made.operation)
    for op in list(made.body.operations):
        if ir.StringAttr(op.attributes["sym_name"]).value not in present:
            op.operation.detach_from_parent()
            state.module.body.append(op)


def _code_text(code: str) -> str:
    size = len(code.encode())
    return f"""
llvm.mlir.global internal constant @{_TEXT}("{quote(code)}") {{addr_space = 0 : i32}}
    : !llvm.array<{size} x i8>
llvm.func @TVMFFIStringFromByteArray(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @__tvm_ffi_{DEVICE_CODE}{_HEADER} {{
  %one = llvm.mlir.constant(1 : i32) : i32
  %text = llvm.mlir.addressof @{_TEXT} : !llvm.ptr
  %size = llvm.mlir.constant({size} : i64) : i64
  %bytes = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i32) -> !llvm.ptr
  llvm.store %text, %bytes : !llvm.ptr, !llvm.ptr
  %size_at = llvm.getelementptr %bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %size, %size_at : i64, !llvm.ptr
  %status = llvm.call @TVMFFIStringFromByteArray(%bytes, %result) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}
"""


def _constant_text(constants: int) -> str:
    return f"""
llvm.mlir.global external @{CONSTANTS}() {{addr_space = 0 : i32}} : !llvm.array<{constants} x ptr>
llvm.func @TVMFFIObjectIncRef(!llvm.ptr) -> i32
llvm.func @__tvm_ffi_{CONSTANT}{_HEADER} {{
  %kind = llvm.mlir.constant({KIND["tensor"]} : i32) : i32
  %number_at = llvm.getelementptr %args[0, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  %number = llvm.load %number_at : !llvm.ptr -> i64
  %table = llvm.mlir.addressof @{CONSTANTS} : !llvm.ptr
  %slot = llvm.getelementptr %table[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %tensor = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %status = llvm.call @TVMFFIObjectIncRef(%tensor) : (!llvm.ptr) -> i32
  llvm.store %kind, %result : i32, !llvm.ptr
  %payload_at = llvm.getelementptr %result[0, 2] : (!llvm.ptr) -> !llvm.ptr, {ANY}
  llvm.store %tensor, %payload_at : !llvm.ptr, !llvm.ptr
  llvm.return %status : i32
}}
"""
