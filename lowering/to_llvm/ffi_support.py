"""Functions that every compiled module with host code carries: errors, allocation, layout checks.

They are written here once, lowered to the llvm dialect once a process, and added to a module as
internal functions; what a module does not use LLVM drops.  All but the allocator are cold.

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
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from relax_mlir.lowering.to_llvm.ffi_abi import ANY, DLTENSOR, KIND, MANAGED, OBJECT_HEADER
from relax_mlir.mlir import PassManager, ir, scope

__all__ = ["DECLARATIONS", "SUPPORT_SYMBOLS", "address_table_text", "support_module"]

# Symbols defined here, with their types as host code declares them before the two are linked.
SUPPORT_SYMBOLS = {
    "relax_ffi_argument_error": "(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr)",
    "relax_ffi_count_error": "(!llvm.ptr, !llvm.ptr, i32)",
    "relax_ffi_size_error": "(!llvm.ptr, i64, !llvm.ptr, i64)",
    "relax_ffi_is_compact": "(!llvm.ptr) -> i1",
    "relax_ffi_new_tensor": "(i32, !llvm.ptr, i32, i64, !llvm.ptr) -> i32",
    "relax_ffi_own": "(!llvm.ptr, !llvm.ptr) -> i32",
    "relax_ffi_release": "(!llvm.ptr)",
    "relax_ffi_call_global": "(!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i32",
}

# Functions of libc and libtvm_ffi that host code calls.
DECLARATIONS = {
    "posix_memalign": "(!llvm.ptr, i64, i64) -> i32",
    "free": "(!llvm.ptr)",
    "memcpy": "(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr",
    "snprintf": "(!llvm.ptr, i64, !llvm.ptr, ...) -> i32",
    "TVMFFIErrorSetRaisedFromCStr": "(!llvm.ptr, !llvm.ptr)",
    "TVMFFITensorFromDLPackVersioned": "(!llvm.ptr, i32, i32, !llvm.ptr) -> i32",
    "TVMFFIDataTypeToString": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIGetTypeInfo": "(i32) -> !llvm.ptr",
    "TVMFFIObjectIncRef": "(!llvm.ptr) -> i32",
    "TVMFFIObjectDecRef": "(!llvm.ptr) -> i32",
    "TVMFFIFunctionGetGlobal": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIFunctionCall": "(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32",
    "TVMFFIAnyViewToOwnedAny": "(!llvm.ptr, !llvm.ptr) -> i32",
    "TVMFFIStringFromByteArray": "(!llvm.ptr, !llvm.ptr) -> i32",
}

# Bytes of the text that describes a value, and of a whole message.
_DESCRIPTION, _MESSAGE = 512, 2048
# The structs before the sizes in the block of a new tensor, and the alignment of its data.
_MANAGED_SIZE, _ALIGNMENT = 80, 64

_STRINGS = {
    "message": "%sexpected %s, got %s",
    "symbol_message": "%sexpected %s with %s = %lld, got %s",
    "count_message": "%sexpected %s, got %d",
    "size_message": "%sexpected %lld%s, got %lld",
    "missing_message": "no function is registered as '%s'; register it with register_global_func",
    "tensor": "%.*s tensor of shape (",
    "first": "%lld",
    "next": ", %lld",
    "single": ",)",
    "close": ")",
    "strides": " with strides (",
    "device": " on device %d:%d",
    "none": "None",
    "int": "int %lld",
    "bool": "a bool",
    "float": "float %g",
    "str": "a str",
    "object": "an object of type %.*s",
    "unknown": "a value of type index %d",
    "type_error": "TypeError",
    "memory_error": "MemoryError",
    "no_memory": "cannot allocate a tensor",
    "value_error": "ValueError",
    "negative": "cannot allocate a tensor: a size is negative",
}


def _globals() -> str:
    return "\n".join(
        f'llvm.mlir.global internal constant @ffi_{name}("{text}\\00")'
        for name, text in _STRINGS.items()
    )


def _declarations() -> str:
    return "\n".join(f"llvm.func @{name}{kind}" for name, kind in DECLARATIONS.items())


_TYPES = f"""
!any = {ANY}
!dl = {DLTENSOR}
!managed = {MANAGED}
"""

# Appends to the text at %buffer, of which %at bytes are used; returns the new length.
_APPEND = f"""
func.func private @ffi_advance(%at: i64, %written: i32) -> i64 {{
  %last = arith.constant {_DESCRIPTION - 1} : i64
  %more = arith.extsi %written : i32 to i64
  %end = arith.addi %at, %more : i64
  %length = arith.minsi %end, %last : i64
  return %length : i64
}}
func.func private @ffi_append_text(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr) -> i64 {{
  %size = arith.constant {_DESCRIPTION} : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}}
func.func private @ffi_append_number(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr, %value: i64) -> i64 {{
  %size = arith.constant {_DESCRIPTION} : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}}
func.func private @ffi_append_slice(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr, %count: i32, %text: !llvm.ptr) -> i64 {{
  %size = arith.constant {_DESCRIPTION} : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format, %count, %text) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}}
func.func private @ffi_append_sizes(%buffer: !llvm.ptr, %start: i64, %count: i32, %sizes: !llvm.ptr) -> i64 {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = llvm.mlir.addressof @ffi_first : !llvm.ptr
  %next = llvm.mlir.addressof @ffi_next : !llvm.ptr
  %end = scf.for %i = %zero to %count step %one iter_args(%at = %start) -> (i64) : i32 {{
    %slot = llvm.getelementptr %sizes[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %size = llvm.load %slot : !llvm.ptr -> i64
    %is_first = arith.cmpi eq, %i, %zero : i32
    %format = arith.select %is_first, %first, %next : !llvm.ptr
    %length = func.call @ffi_append_number(%buffer, %at, %format, %size) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
    scf.yield %length : i64
  }}
  %close = llvm.mlir.addressof @ffi_close : !llvm.ptr
  %single = llvm.mlir.addressof @ffi_single : !llvm.ptr
  %is_single = arith.cmpi eq, %count, %one : i32
  %tail = arith.select %is_single, %single, %close : !llvm.ptr
  %length = func.call @ffi_append_text(%buffer, %end, %tail) : (!llvm.ptr, i64, !llvm.ptr) -> i64
  return %length : i64
}}
"""

_COMPACT = """
func.func private @relax_ffi_is_compact(%tensor: !llvm.ptr) -> i1 {
  %null = llvm.mlir.zero : !llvm.ptr
  %true = arith.constant true
  %strides_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !dl
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %none = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %compact = scf.if %none -> (i1) {
    scf.yield %true : i1
  } else {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %unit = arith.constant 1 : i64
    %nothing = arith.constant 0 : i64
    %ndim_at = llvm.getelementptr %tensor[0, 2] : (!llvm.ptr) -> !llvm.ptr, !dl
    %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
    %shape_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !dl
    %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
    %last = arith.subi %ndim, %one : i32
    %step, %fits = scf.for %i = %zero to %ndim step %one iter_args(%step = %unit, %fits = %true) -> (i64, i1) : i32 {
      %axis = arith.subi %last, %i : i32
      %size_at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
      %size = llvm.load %size_at : !llvm.ptr -> i64
      %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
      %stride = llvm.load %stride_at : !llvm.ptr -> i64
      %same = arith.cmpi eq, %stride, %step : i64
      %flat = arith.cmpi eq, %size, %unit : i64
      %good = arith.ori %same, %flat : i1
      %both = arith.andi %fits, %good : i1
      %wider = arith.muli %step, %size : i64
      scf.yield %wider, %both : i64, i1
    }
    %empty = arith.cmpi eq, %step, %nothing : i64
    %result = arith.ori %fits, %empty : i1
    scf.yield %result : i1
  }
  return %compact : i1
}
"""

_DESCRIBE_TENSOR = f"""
func.func private @ffi_describe_tensor(%buffer: !llvm.ptr, %tensor: !llvm.ptr) {{
  %i1 = arith.constant 1 : i32
  %start = arith.constant 0 : i64
  %name = llvm.alloca %i1 x !any : (i32) -> !llvm.ptr
  %dtype = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !dl
  %status = llvm.call @TVMFFIDataTypeToString(%dtype, %name) : (!llvm.ptr, !llvm.ptr) -> i32
  %kind = llvm.load %name : !llvm.ptr -> i32
  %small_kind = arith.constant {KIND["small_str"]} : i32
  %is_small = arith.cmpi eq, %kind, %small_kind : i32
  %payload = llvm.getelementptr %name[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %text, %count = scf.if %is_small -> (!llvm.ptr, i32) {{
    %count_at = llvm.getelementptr %name[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
    %n = llvm.load %count_at : !llvm.ptr -> i32
    scf.yield %payload, %n : !llvm.ptr, i32
  }} else {{
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %cell = llvm.getelementptr %object[{OBJECT_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
    %data = llvm.load %cell : !llvm.ptr -> !llvm.ptr
    %count_at = llvm.getelementptr %cell[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %n = llvm.load %count_at : !llvm.ptr -> i32
    scf.yield %data, %n : !llvm.ptr, i32
  }}
  %format = llvm.mlir.addressof @ffi_tensor : !llvm.ptr
  %a = func.call @ffi_append_slice(%buffer, %start, %format, %count, %text) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i64
  scf.if %is_small {{
  }} else {{
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %released = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  }}
  %ndim_at = llvm.getelementptr %tensor[0, 2] : (!llvm.ptr) -> !llvm.ptr, !dl
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %shape_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !dl
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %b = func.call @ffi_append_sizes(%buffer, %a, %ndim, %shape) : (!llvm.ptr, i64, i32, !llvm.ptr) -> i64
  %compact = func.call @relax_ffi_is_compact(%tensor) : (!llvm.ptr) -> i1
  %c = scf.if %compact -> (i64) {{
    scf.yield %b : i64
  }} else {{
    %open = llvm.mlir.addressof @ffi_strides : !llvm.ptr
    %d = func.call @ffi_append_text(%buffer, %b, %open) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    %strides_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !dl
    %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
    %e = func.call @ffi_append_sizes(%buffer, %d, %ndim, %strides) : (!llvm.ptr, i64, i32, !llvm.ptr) -> i64
    scf.yield %e : i64
  }}
  %device_at = llvm.getelementptr %tensor[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, !dl
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %on_cpu = arith.cmpi eq, %device, %i1 : i32
  scf.if %on_cpu {{
  }} else {{
    %index_at = llvm.getelementptr %tensor[0, 1, 1] : (!llvm.ptr) -> !llvm.ptr, !dl
    %index = llvm.load %index_at : !llvm.ptr -> i32
    %on = llvm.mlir.addressof @ffi_device : !llvm.ptr
    %size = arith.constant {_DESCRIPTION} : i64
    %left = arith.subi %size, %c : i64
    %to = llvm.getelementptr %buffer[%c] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %n = llvm.call @snprintf(%to, %left, %on, %device, %index) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, i32, i32) -> i32
  }}
  return
}}
"""

_DESCRIBE = f"""
func.func private @ffi_describe_object(%buffer: !llvm.ptr, %kind: i32) {{
  %start = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %info = llvm.call @TVMFFIGetTypeInfo(%kind) : (i32) -> !llvm.ptr
  %unknown = llvm.icmp "eq" %info, %null : !llvm.ptr
  scf.if %unknown {{
    %format = llvm.mlir.addressof @ffi_unknown : !llvm.ptr
    %wide = arith.extsi %kind : i32 to i64
    %n = func.call @ffi_append_number(%buffer, %start, %format, %wide) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  }} else {{
    %format = llvm.mlir.addressof @ffi_object : !llvm.ptr
    %text_at = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %text = llvm.load %text_at : !llvm.ptr -> !llvm.ptr
    %count_at = llvm.getelementptr %info[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %count = llvm.load %count_at : !llvm.ptr -> i32
    %n = func.call @ffi_append_slice(%buffer, %start, %format, %count, %text) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i64
  }}
  return
}}
func.func private @ffi_describe(%buffer: !llvm.ptr, %any: !llvm.ptr) {{
  %start = arith.constant 0 : i64
  %kind = llvm.load %any : !llvm.ptr -> i32
  %payload = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %bits = llvm.load %payload : !llvm.ptr -> i64
  %selector = arith.index_cast %kind : i32 to index
  scf.index_switch %selector
  case {KIND["tensor"]} {{
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %tensor = llvm.getelementptr %object[{OBJECT_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
    func.call @ffi_describe_tensor(%buffer, %tensor) : (!llvm.ptr, !llvm.ptr) -> ()
    scf.yield
  }}
  case {KIND["dltensor_ptr"]} {{
    %tensor = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    func.call @ffi_describe_tensor(%buffer, %tensor) : (!llvm.ptr, !llvm.ptr) -> ()
    scf.yield
  }}
  case {KIND["none"]} {{
    %format = llvm.mlir.addressof @ffi_none : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }}
  case {KIND["int"]} {{
    %format = llvm.mlir.addressof @ffi_int : !llvm.ptr
    %n = func.call @ffi_append_number(%buffer, %start, %format, %bits) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
    scf.yield
  }}
  case {KIND["bool"]} {{
    %format = llvm.mlir.addressof @ffi_bool : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }}
  case {KIND["float"]} {{
    %format = llvm.mlir.addressof @ffi_float : !llvm.ptr
    %value = arith.bitcast %bits : i64 to f64
    %size = arith.constant {_DESCRIPTION} : i64
    %n = llvm.call @snprintf(%buffer, %size, %format, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, f64) -> i32
    scf.yield
  }}
  case {KIND["small_str"]} {{
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }}
  case {KIND["raw_str"]} {{
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }}
  case {KIND["str"]} {{
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }}
  default {{
    func.call @ffi_describe_object(%buffer, %kind) : (!llvm.ptr, i32) -> ()
    scf.yield
  }}
  return
}}
"""

_ERRORS = f"""
func.func private @relax_ffi_argument_error(%kind: !llvm.ptr, %prefix: !llvm.ptr, %expected: !llvm.ptr, %symbol: !llvm.ptr, %value: i64, %any: !llvm.ptr) {{
  %i1 = arith.constant 1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %size = arith.constant {_MESSAGE} : i64
  %given = llvm.alloca %i1 x !llvm.array<{_DESCRIPTION} x i8> : (i32) -> !llvm.ptr
  %message = llvm.alloca %i1 x !llvm.array<{_MESSAGE} x i8> : (i32) -> !llvm.ptr
  func.call @ffi_describe(%given, %any) : (!llvm.ptr, !llvm.ptr) -> ()
  %plain = llvm.icmp "eq" %symbol, %null : !llvm.ptr
  scf.if %plain {{
    %format = llvm.mlir.addressof @ffi_message : !llvm.ptr
    %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  }} else {{
    %format = llvm.mlir.addressof @ffi_symbol_message : !llvm.ptr
    %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %symbol, %value, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  }}
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}}
func.func private @relax_ffi_count_error(%prefix: !llvm.ptr, %expected: !llvm.ptr, %given: i32) {{
  %i1 = arith.constant 1 : i32
  %size = arith.constant {_MESSAGE} : i64
  %message = llvm.alloca %i1 x !llvm.array<{_MESSAGE} x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_count_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
  %kind = llvm.mlir.addressof @ffi_type_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}}
"""

_SIZE_ERROR = f"""
func.func private @relax_ffi_size_error(%prefix: !llvm.ptr, %expected: i64, %note: !llvm.ptr, %given: i64) {{
  %i1 = arith.constant 1 : i32
  %size = arith.constant {_MESSAGE} : i64
  %message = llvm.alloca %i1 x !llvm.array<{_MESSAGE} x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_size_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %note, %given) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %kind = llvm.mlir.addressof @ffi_value_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}}
func.func private @ffi_missing(%name: !llvm.ptr) {{
  %i1 = arith.constant 1 : i32
  %size = arith.constant {_MESSAGE} : i64
  %message = llvm.alloca %i1 x !llvm.array<{_MESSAGE} x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_missing_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %name) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> i32
  %kind = llvm.mlir.addressof @ffi_value_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}}
"""

_OWNERSHIP = f"""
func.func private @relax_ffi_own(%any: !llvm.ptr, %out: !llvm.ptr) -> i32 {{
  %i0 = arith.constant 0 : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %pointer_kind = arith.constant {KIND["dltensor_ptr"]} : i32
  %object_kind = arith.constant {KIND["first_object"]} : i32
  %small_kind = arith.constant {KIND["small_str"]} : i32
  %payload_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %out_at = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %payload = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  %is_object = arith.cmpi sge, %kind, %object_kind : i32
  cf.cond_br %is_object, ^object, ^other
^object:
  llvm.store %kind, %out : i32, !llvm.ptr
  llvm.store %payload, %out_at : !llvm.ptr, !llvm.ptr
  %kept = llvm.call @TVMFFIObjectIncRef(%payload) : (!llvm.ptr) -> i32
  return %kept : i32
^other:
  %is_pointer = arith.cmpi eq, %kind, %pointer_kind : i32
  cf.cond_br %is_pointer, ^copy, ^plain
^copy:
  %copied = func.call @ffi_copy_tensor(%payload, %out) : (!llvm.ptr, !llvm.ptr) -> i32
  return %copied : i32
^plain:
  %above = arith.cmpi sgt, %kind, %pointer_kind : i32
  %below = arith.cmpi slt, %kind, %small_kind : i32
  %is_view = arith.andi %above, %below : i1
  cf.cond_br %is_view, ^view, ^value
^view:
  %owned = llvm.call @TVMFFIAnyViewToOwnedAny(%any, %out) : (!llvm.ptr, !llvm.ptr) -> i32
  return %owned : i32
^value:
  %head = llvm.load %any : !llvm.ptr -> i64
  llvm.store %head, %out : i64, !llvm.ptr
  llvm.store %payload, %out_at : !llvm.ptr, !llvm.ptr
  return %i0 : i32
}}
func.func private @relax_ffi_release(%any: !llvm.ptr) {{
  %i0 = arith.constant 0 : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %object_kind = arith.constant {KIND["first_object"]} : i32
  %is_object = arith.cmpi sge, %kind, %object_kind : i32
  scf.if %is_object {{
    %payload_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
    %payload = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
    %released = llvm.call @TVMFFIObjectDecRef(%payload) : (!llvm.ptr) -> i32
  }}
  llvm.store %i0, %any : i32, !llvm.ptr
  return
}}
func.func private @ffi_copy_tensor(%tensor: !llvm.ptr, %out: !llvm.ptr) -> i32 {{
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l1 = arith.constant 1 : i64
  %l3 = arith.constant 3 : i64
  %l7 = arith.constant 7 : i64
  %l8 = arith.constant 8 : i64
  %l255 = arith.constant 255 : i64
  %ndim_at = llvm.getelementptr %tensor[0, 2] : (!llvm.ptr) -> !llvm.ptr, !dl
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %dtype_at = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !dl
  %dtype = llvm.load %dtype_at : !llvm.ptr -> i32
  %shape_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !dl
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %elements = scf.for %i = %i0 to %ndim step %i1 iter_args(%count = %l1) -> (i64) : i32 {{
    %size_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %size = llvm.load %size_at : !llvm.ptr -> i64
    %more = arith.muli %count, %size : i64
    scf.yield %more : i64
  }}
  %word = arith.extui %dtype : i32 to i64
  %shifted = arith.shrui %word, %l8 : i64
  %width = arith.andi %shifted, %l255 : i64
  %bits = arith.muli %elements, %width : i64
  %rounded = arith.addi %bits, %l7 : i64
  %bytes = arith.shrui %rounded, %l3 : i64
  %status = func.call @relax_ffi_new_tensor(%ndim, %shape, %dtype, %bytes, %out) : (i32, !llvm.ptr, i32, i64, !llvm.ptr) -> i32
  %made = arith.cmpi eq, %status, %i0 : i32
  scf.if %made {{
    %payload_at = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
    %object = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
    %inside = llvm.getelementptr %object[{OBJECT_HEADER}] : (!llvm.ptr) -> !llvm.ptr, i8
    %to = llvm.load %inside : !llvm.ptr -> !llvm.ptr
    %base = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
    %offset_at = llvm.getelementptr %tensor[0, 6] : (!llvm.ptr) -> !llvm.ptr, !dl
    %offset = llvm.load %offset_at : !llvm.ptr -> i64
    %from = llvm.getelementptr %base[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %done = llvm.call @memcpy(%to, %from, %bytes) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  }}
  return %status : i32
}}
"""

_CALL_GLOBAL = """
func.func private @relax_ffi_call_global(%name: !llvm.ptr, %length: i64, %args: !llvm.ptr, %count: i32, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %fail = arith.constant -1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %bytes = llvm.alloca %i1 x !llvm.struct<(ptr, i64)> : (i32) -> !llvm.ptr
  llvm.store %name, %bytes : !llvm.ptr, !llvm.ptr
  %length_at = llvm.getelementptr %bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %length, %length_at : i64, !llvm.ptr
  %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
  llvm.store %null, %slot : !llvm.ptr, !llvm.ptr
  %found = llvm.call @TVMFFIFunctionGetGlobal(%bytes, %slot) : (!llvm.ptr, !llvm.ptr) -> i32
  %function = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %ok = arith.cmpi eq, %found, %i0 : i32
  cf.cond_br %ok, ^looked, ^failed
^failed:
  return %fail : i32
^looked:
  %absent = llvm.icmp "eq" %function, %null : !llvm.ptr
  cf.cond_br %absent, ^missing, ^call
^missing:
  func.call @ffi_missing(%name) : (!llvm.ptr) -> ()
  return %fail : i32
^call:
  llvm.store %i0, %out : i32, !llvm.ptr
  %status = llvm.call @TVMFFIFunctionCall(%function, %args, %count, %out) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  %released = llvm.call @TVMFFIObjectDecRef(%function) : (!llvm.ptr) -> i32
  return %status : i32
}
"""

_NEW_TENSOR = f"""
func.func private @relax_ffi_new_tensor(%ndim: i32, %shape: !llvm.ptr, %dtype: i32, %bytes: i64, %out: !llvm.ptr) -> i32 {{
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %alignment = arith.constant {_ALIGNMENT} : i64
  %head = arith.constant {_MANAGED_SIZE + _ALIGNMENT - 1} : i64
  %mask = arith.constant {-_ALIGNMENT} : i64
  %two_sizes = arith.constant 16 : i64
  %fail = arith.constant -1 : i32
  %negative = arith.cmpi slt, %bytes, %l0 : i64
  cf.cond_br %negative, ^negative, ^allocate
^negative:
  %value_error = llvm.mlir.addressof @ffi_value_error : !llvm.ptr
  %negative_text = llvm.mlir.addressof @ffi_negative : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%value_error, %negative_text) : (!llvm.ptr, !llvm.ptr) -> ()
  return %fail : i32
^allocate:
  %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
  %rank = arith.extsi %ndim : i32 to i64
  %dims = arith.muli %rank, %two_sizes : i64
  %unaligned = arith.addi %dims, %head : i64
  %header = arith.andi %unaligned, %mask : i64
  %size = arith.addi %header, %bytes : i64
  %status = llvm.call @posix_memalign(%slot, %alignment, %size) : (!llvm.ptr, i64, i64) -> i32
  %got = arith.cmpi eq, %status, %i0 : i32
  cf.cond_br %got, ^fill, ^exhausted
^exhausted:
  %memory_error = llvm.mlir.addressof @ffi_memory_error : !llvm.ptr
  %memory_text = llvm.mlir.addressof @ffi_no_memory : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%memory_error, %memory_text) : (!llvm.ptr, !llvm.ptr) -> ()
  return %fail : i32
^fill:
  %block = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %sizes = llvm.getelementptr %block[{_MANAGED_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.getelementptr %sizes[%ndim] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %data = llvm.getelementptr %block[%header] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %last = arith.subi %ndim, %i1 : i32
  %elements = scf.for %i = %i0 to %ndim step %i1 iter_args(%step = %l1) -> (i64) : i32 {{
    %axis = arith.subi %last, %i : i32
    %from = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %extent = llvm.load %from : !llvm.ptr -> i64
    %size_at = llvm.getelementptr %sizes[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    llvm.store %extent, %size_at : i64, !llvm.ptr
    %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    llvm.store %step, %stride_at : i64, !llvm.ptr
    %wider = arith.muli %step, %extent : i64
    scf.yield %wider : i64
  }}
  %major = llvm.getelementptr %block[0, 0] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %i1, %major : i32, !llvm.ptr
  %minor = llvm.getelementptr %block[0, 1] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %i0, %minor : i32, !llvm.ptr
  %context = llvm.getelementptr %block[0, 2] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %block, %context : !llvm.ptr, !llvm.ptr
  %free = llvm.mlir.addressof @free : !llvm.ptr
  %deleter = llvm.getelementptr %block[0, 3] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %free, %deleter : !llvm.ptr, !llvm.ptr
  %flags = llvm.getelementptr %block[0, 4] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %l0, %flags : i64, !llvm.ptr
  %data_at = llvm.getelementptr %block[0, 5, 0] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %data, %data_at : !llvm.ptr, !llvm.ptr
  %device = llvm.getelementptr %block[0, 5, 1, 0] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %i1, %device : i32, !llvm.ptr
  %index = llvm.getelementptr %block[0, 5, 1, 1] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %i0, %index : i32, !llvm.ptr
  %ndim_at = llvm.getelementptr %block[0, 5, 2] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %ndim, %ndim_at : i32, !llvm.ptr
  %dtype_at = llvm.getelementptr %block[0, 5, 3] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %dtype, %dtype_at : i32, !llvm.ptr
  %shape_at = llvm.getelementptr %block[0, 5, 4] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %sizes, %shape_at : !llvm.ptr, !llvm.ptr
  %strides_at = llvm.getelementptr %block[0, 5, 5] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %strides, %strides_at : !llvm.ptr, !llvm.ptr
  %offset = llvm.getelementptr %block[0, 5, 6] : (!llvm.ptr) -> !llvm.ptr, !managed
  llvm.store %l0, %offset : i64, !llvm.ptr
  %handle = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %made = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %i0, %i0, %handle) : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %ok = arith.cmpi eq, %made, %i0 : i32
  cf.cond_br %ok, ^done, ^refused
^refused:
  llvm.call @free(%block) : (!llvm.ptr) -> ()
  return %fail : i32
^done:
  %tensor_kind = arith.constant {KIND["tensor"]} : i32
  llvm.store %tensor_kind, %out : i32, !llvm.ptr
  return %i0 : i32
}}
"""

_PIPELINE = (
    "builtin.module(convert-scf-to-cf,convert-index-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)


# Called on the way of every call that succeeds; everything else runs when something is wrong, and
# optimising it would only cost compile time.
_HOT = (
    "relax_ffi_is_compact",
    "relax_ffi_new_tensor",
    "relax_ffi_own",
    "relax_ffi_release",
    "relax_ffi_call_global",
)
_COLD_ATTRIBUTES = ("cold", "noinline", "optnone")


def _strings(values: Iterable[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


@cache
def _support_text() -> str:
    source = "".join(
        [_TYPES, _globals(), _declarations(), _COMPACT, _APPEND, _DESCRIBE_TENSOR, _DESCRIBE,
         _ERRORS, _SIZE_ERROR, _NEW_TENSOR, _OWNERSHIP, _CALL_GLOBAL]
    )  # fmt: skip
    with scope():
        module = ir.Module.parse(source)
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        for op in module.body.operations:
            if op.operation.name == "func.func":
                op.attributes["llvm.linkage"] = internal
                del op.attributes["sym_visibility"]
        PassManager.parse(_PIPELINE).run(module.operation)
        for op in module.body.operations:
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if (
                op.operation.name == "llvm.func"
                and name not in _HOT
                and len(op.operation.regions[0].blocks)
            ):
                op.attributes["passthrough"] = _strings(_COLD_ATTRIBUTES)
        return str(module)


def support_module() -> ir.Module:
    """A fresh module in the llvm dialect with the functions above, all internal."""
    return ir.Module.parse(_support_text())


def address_table_text(name: str) -> str:
    """A module with a function that stores the addresses of the support functions, in the order of
    SUPPORT_SYMBOLS, into the table it is given."""
    lines = [f"llvm.func @{symbol}{kind}" for symbol, kind in SUPPORT_SYMBOLS.items()]
    lines.append(f"llvm.func @{name}(%table: !llvm.ptr) {{")
    for index, symbol in enumerate(SUPPORT_SYMBOLS):
        lines += [
            f"  %a{index} = llvm.mlir.addressof @{symbol} : !llvm.ptr",
            f"  %t{index} = llvm.getelementptr %table[{8 * index}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"  llvm.store %a{index}, %t{index} : !llvm.ptr, !llvm.ptr",
        ]
    return "\n".join([*lines, "  llvm.return", "}"])
