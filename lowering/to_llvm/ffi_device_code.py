"""The kernels of an exported library: text in its data section, and functions that hand it out.

`__relax_device_code()` returns a string, `__relax_constant(number)` a constant of the library's
table; whoever loads the library makes kernels of the one and puts the other on the device.
"""

from __future__ import annotations

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_host.host_function import CONSTANTS
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, KIND
from relax_mlir.lowering.to_llvm.ffi_strings import PACKED_HEADER, add_string_function, merge

__all__ = ["CONSTANT", "DEVICE_CODE", "add_device_code"]

DEVICE_CODE = "__relax_device_code"
CONSTANT = "__relax_constant"


def add_device_code(state: ModuleState, code: str, constants: int) -> None:
    """Add both functions to a module in the llvm dialect; `constants` is the size of its table."""
    add_string_function(state, DEVICE_CODE, code)
    if constants:
        merge(state, _constant_text(constants))


def _constant_text(constants: int) -> str:
    return f"""
llvm.mlir.global external @{CONSTANTS}() {{addr_space = 0 : i32}} : !llvm.array<{constants} x ptr>
llvm.func @TVMFFIObjectIncRef(!llvm.ptr) -> i32
llvm.func @__tvm_ffi_{CONSTANT}{PACKED_HEADER} {{
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
