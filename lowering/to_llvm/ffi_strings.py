"""Adding functions to a module in the llvm dialect, such as one that hands out a text."""

from __future__ import annotations

from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.ffi_text import quote
from relax_mlir.mlir import PassManager, ir

__all__ = ["PACKED_HEADER", "add_string_function", "merge", "symbol_name_or_none"]

PACKED_HEADER = "(%handle: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32"
"""The parameters of a packed function and its result."""


def add_string_function(state: ModuleState, name: str, text: str) -> None:
    """Add the packed function `name` without arguments, which returns `text` from the data
    section."""
    merge(state, _string_function(name, text))


def merge(state: ModuleState, text: str) -> None:
    """Add the definitions of MLIR text whose symbols the module does not have."""
    present = {symbol_name_or_none(op) for op in state.module.body.operations}
    made = ir.Module.parse(text)
    PassManager.parse("builtin.module(canonicalize)").run(made.operation)
    for op in list(made.body.operations):
        name = symbol_name_or_none(op)
        if name is None or name not in present:
            op.operation.detach_from_parent()
            state.module.body.append(op)


def symbol_name_or_none(op: ir.OpView) -> str | None:
    return symbol_name(op.operation) if "sym_name" in op.operation.attributes else None


def _string_function(name: str, text: str) -> str:
    size = len(text.encode())
    return f"""
llvm.mlir.global internal constant @{name}_text("{quote(text)}") {{addr_space = 0 : i32}}
    : !llvm.array<{size} x i8>
llvm.func @TVMFFIStringFromByteArray(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @__tvm_ffi_{name}{PACKED_HEADER} {{
  %one = llvm.mlir.constant(1 : i32) : i32
  %text = llvm.mlir.addressof @{name}_text : !llvm.ptr
  %size = llvm.mlir.constant({size} : i64) : i64
  %bytes = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i32) -> !llvm.ptr
  llvm.store %text, %bytes : !llvm.ptr, !llvm.ptr
  %size_at = llvm.getelementptr %bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %size, %size_at : i64, !llvm.ptr
  %status = llvm.call @TVMFFIStringFromByteArray(%bytes, %result) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}
"""
