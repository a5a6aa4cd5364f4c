"""Functions that every compiled module with host code carries: errors, allocation, layout checks.

They are written in the `ffi_*.mlir` files beside this one.  Code made just in time shares one
compiled copy of those it calls (`relax_mlir/runtime/support_code.py`); a library gets them as
internal functions (`llvm-link-ffi-support`).

    relax_ffi_argument_error(kind, prefix, expected, symbol, value, any)
        raise "<prefix>expected <expected>[ with <symbol> = <value>], got <description of any>"
    relax_ffi_count_error(prefix, expected, given)
        raise TypeError "<prefix>expected <expected>, got <given>"
    relax_ffi_size_error(prefix, expected, note, given)
        raise ValueError "<prefix>expected <expected><note>, got <given>"
    relax_ffi_is_compact(tensor) -> i1
        row-major without gaps; sizes 1 and empty tensors as numpy sees them
    relax_ffi_new_tensor(ndim, shape, dtype word, bytes, out any) -> i32
        a new 64-byte aligned tensor, owned by `out`; its memory is released by libc's free, never
        by code of the module, so that a tensor may outlive what made it
    relax_ffi_new_view(tensor any, data, ndim, shape, dtype word, out any) -> i32
        a tensor, owned by `out`, whose memory is part of another tensor's, of which it keeps a
        reference
    relax_ffi_own(any, out any) -> i32
        a reference of one's own to a borrowed value; a bare DLTensor* is copied into a new tensor
    relax_ffi_release(any)
        give up an owned value; the Any becomes None
    relax_ffi_call_global(name, length, args, count, out any) -> i32
        call a registered function; raises ValueError when there is none of that name
    relax_ffi_make_closure(code, captured, count, out any) -> i32
        a function that calls `code`, an FFI function of the module, with its own arguments and
        the captured values behind them, of which it keeps references
    relax_ffi_call_value(any, args, count, prefix, out any) -> i32
        call a function that is a value; raises TypeError when it is none
    relax_ffi_reserve(bytes) -> i1
        whether there is memory of that size; raises MemoryError when there is not
    relax_ffi_take_workspace(bytes) -> ptr
        64-byte aligned memory, that of an earlier call if one is kept; null when there is none.
        Who takes also gives, so both are made together and mean the same kept block
    relax_ffi_give_workspace(ptr)
        keep memory for the next call that takes some; nothing for null
    relax_ffi_pending_error() -> i32
        -1 when an error is raised in the thread, else 0
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

from relax_mlir.lowering.to_llvm.ffi_abi import ANY, DLTENSOR, MANAGED
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.mlir import PassManager, ir

__all__ = ["DECLARATIONS", "SUPPORT_SYMBOLS", "support_module"]

# Symbols defined here, with their types as host code declares them before the two are linked.
SUPPORT_SYMBOLS = {
    "relax_ffi_argument_error": "(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr)",
    "relax_ffi_count_error": "(!llvm.ptr, !llvm.ptr, i32)",
    "relax_ffi_size_error": "(!llvm.ptr, i64, !llvm.ptr, i64)",
    "relax_ffi_is_compact": "(!llvm.ptr) -> i1",
    "relax_ffi_new_tensor": "(i32, !llvm.ptr, i32, i64, !llvm.ptr) -> i32",
    "relax_ffi_new_view": "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i32, !llvm.ptr) -> i32",
    "relax_ffi_own": "(!llvm.ptr, !llvm.ptr) -> i32",
    "relax_ffi_release": "(!llvm.ptr)",
    "relax_ffi_call_global": "(!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i32",
    "relax_ffi_make_closure": "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32",
    "relax_ffi_call_value": "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32",
    "relax_ffi_pending_error": "() -> i32",
    "relax_ffi_reserve": "(i64) -> i1",
    "relax_ffi_take_workspace": "(i64) -> !llvm.ptr",
    "relax_ffi_give_workspace": "(!llvm.ptr)",
}

# Functions of libc and libtvm_ffi that host code calls.
DECLARATIONS = {
    "posix_memalign": "(!llvm.ptr, i64, i64) -> i32",
    "free": "(!llvm.ptr)",
    "memcpy": "(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr",
    "snprintf": "(!llvm.ptr, i64, !llvm.ptr, ...) -> i32",
    "TVMFFIErrorSetRaisedFromCStr": "(!llvm.ptr, !llvm.ptr)",
    "TVMFFIErrorMoveFromRaised": "(!llvm.ptr)",
    "TVMFFIErrorSetRaised": "(!llvm.ptr)",
    "TVMFFITensorFromDLPackVersioned": "(!llvm.ptr, i32, i32, !llvm.ptr) -> i32",
    "TVMFFITensorCreateUnsafeView": "(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIDataTypeToString": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIGetTypeInfo": "(i32) -> !llvm.ptr",
    "TVMFFIObjectIncRef": "(!llvm.ptr) -> i32",
    "TVMFFIObjectDecRef": "(!llvm.ptr) -> i32",
    "TVMFFIFunctionCreate": "(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIFunctionGetGlobal": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIFunctionCall": "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32",
    "TVMFFIAnyViewToOwnedAny": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIStringFromByteArray": "(!llvm.ptr, !llvm.ptr) -> i32",
}

_PRINTF = "!llvm.func<i32 (ptr, i64, ptr, ...)>"
_FILES = ("ffi_objects.mlir", "ffi_workspace.mlir", "ffi_closures.mlir", "ffi_errors.mlir")

# What nothing exported calls goes first.
_PIPELINE = (
    "builtin.module(symbol-dce,convert-scf-to-cf,convert-index-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)

# Called on the way of every call that succeeds; everything else runs when something is wrong, and
# optimising it would only cost compile time.
_HOT = (
    "relax_ffi_is_compact",
    "relax_ffi_new_tensor",
    "relax_ffi_new_view",
    "relax_ffi_own",
    "relax_ffi_release",
    "relax_ffi_call_global",
    "relax_ffi_call_value",
    "ffi_closure_call",
    "relax_ffi_pending_error",
    "relax_ffi_reserve",
    "relax_ffi_take_workspace",
    "relax_ffi_give_workspace",
)
_COLD_ATTRIBUTES = ("cold", "noinline", "optnone")
# Loops here are over the axes of a tensor, which are few: taking several at a time is slower, and
# doubles the time that LLVM needs.
_SHORT_LOOP = "#llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>"


def support_module(
    exported: Collection[str] = SUPPORT_SYMBOLS, linkage: str = "internal"
) -> ir.Module:
    """A fresh module in the llvm dialect with the support functions of these names, in this
    linkage, and what they call."""
    module = ir.Module.parse(_source())
    for op in module.body.operations:
        if op.operation.name != "func.func":
            continue
        wanted = symbol_name(op.operation) in exported
        kind = linkage if wanted else "internal"
        op.attributes["llvm.linkage"] = ir.Attribute.parse(f"#llvm.linkage<{kind}>")
        if wanted:
            del op.attributes["sym_visibility"]
    PassManager.parse(_PIPELINE).run(module.operation)
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and len(op.regions[0].blocks) > 0:
            _advise_llvm(op.operation)
    return module


@cache
def _source() -> str:
    aliases = f"!any = {ANY}\n!dl = {DLTENSOR}\n!managed = {MANAGED}\n!printf = {_PRINTF}\n"
    declarations = "".join(f"llvm.func @{name}{kind}\n" for name, kind in DECLARATIONS.items())
    folder = Path(__file__).parent
    files = [(folder / name).read_text(encoding="utf-8") for name in _FILES]
    return "\n".join([aliases, declarations, *files])


def _advise_llvm(function: ir.Operation) -> None:
    """Say what is not worth LLVM's time."""
    if "sym_visibility" in function.attributes:
        del function.attributes["sym_visibility"]
    if symbol_name(function) not in _HOT:
        names = [ir.StringAttr.get(name) for name in _COLD_ATTRIBUTES]
        function.attributes["passthrough"] = ir.ArrayAttr.get(names)
        return
    short = ir.Attribute.parse(_SHORT_LOOP)
    for block in function.regions[0].blocks:
        last = block.operations[len(block.operations) - 1]
        if last.operation.name == "llvm.cond_br":
            last.attributes["loop_annotation"] = short
