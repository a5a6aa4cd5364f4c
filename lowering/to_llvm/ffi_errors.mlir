// Errors of host code: messages that say what was expected and what was given.
//
// Read by ffi_support.py, which puts type aliases and declarations in front. A description has at
// most 512 bytes, a message 2048. Kinds of an Any: 0 None, 1 int, 2 bool, 3 float, 7 DLTensor*,
// 8 char*, 11 a short str inside the Any, 65 str, 70 tensor; objects start at 64 and their contents
// 24 bytes into the object.

llvm.mlir.global internal constant @ffi_message("%sexpected %s, got %s\00")
llvm.mlir.global internal constant @ffi_symbol_message("%sexpected %s with %s = %lld, got %s\00")
llvm.mlir.global internal constant @ffi_count_message("%sexpected %s, got %d\00")
llvm.mlir.global internal constant @ffi_size_message("%sexpected %lld%s, got %lld\00")
llvm.mlir.global internal constant @ffi_missing_message("no function is registered as '%s'; register it with register_global_func\00")
llvm.mlir.global internal constant @ffi_tensor("%.*s tensor of shape (\00")
llvm.mlir.global internal constant @ffi_first("%lld\00")
llvm.mlir.global internal constant @ffi_next(", %lld\00")
llvm.mlir.global internal constant @ffi_single(",)\00")
llvm.mlir.global internal constant @ffi_close(")\00")
llvm.mlir.global internal constant @ffi_strides(" with strides (\00")
llvm.mlir.global internal constant @ffi_device(" on device %d:%d\00")
llvm.mlir.global internal constant @ffi_none("None\00")
llvm.mlir.global internal constant @ffi_int("int %lld\00")
llvm.mlir.global internal constant @ffi_bool("a bool\00")
llvm.mlir.global internal constant @ffi_float("float %g\00")
llvm.mlir.global internal constant @ffi_str("a str\00")
llvm.mlir.global internal constant @ffi_object("an object of type %.*s\00")
llvm.mlir.global internal constant @ffi_unknown("a value of type index %d\00")
llvm.mlir.global internal constant @ffi_type_error("TypeError\00")

// Appends to the text at %buffer, of which %at bytes are used; each returns the new length.
func.func private @ffi_advance(%at: i64, %written: i32) -> i64 {
  %last = arith.constant 511 : i64
  %more = arith.extsi %written : i32 to i64
  %end = arith.addi %at, %more : i64
  %length = arith.minsi %end, %last : i64
  return %length : i64
}
func.func private @ffi_append_text(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr) -> i64 {
  %size = arith.constant 512 : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}
func.func private @ffi_append_number(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr, %value: i64) -> i64 {
  %size = arith.constant 512 : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format, %value) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}
func.func private @ffi_append_slice(%buffer: !llvm.ptr, %at: i64, %format: !llvm.ptr, %count: i32, %text: !llvm.ptr) -> i64 {
  %size = arith.constant 512 : i64
  %left = arith.subi %size, %at : i64
  %to = llvm.getelementptr %buffer[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %n = llvm.call @snprintf(%to, %left, %format, %count, %text) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i32
  %length = func.call @ffi_advance(%at, %n) : (i64, i32) -> i64
  return %length : i64
}
func.func private @ffi_append_sizes(%buffer: !llvm.ptr, %start: i64, %count: i32, %sizes: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = llvm.mlir.addressof @ffi_first : !llvm.ptr
  %next = llvm.mlir.addressof @ffi_next : !llvm.ptr
  %end = scf.for %i = %zero to %count step %one iter_args(%at = %start) -> (i64) : i32 {
    %slot = llvm.getelementptr %sizes[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %size = llvm.load %slot : !llvm.ptr -> i64
    %is_first = arith.cmpi eq, %i, %zero : i32
    %format = arith.select %is_first, %first, %next : !llvm.ptr
    %length = func.call @ffi_append_number(%buffer, %at, %format, %size) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
    scf.yield %length : i64
  }
  %close = llvm.mlir.addressof @ffi_close : !llvm.ptr
  %single = llvm.mlir.addressof @ffi_single : !llvm.ptr
  %is_single = arith.cmpi eq, %count, %one : i32
  %tail = arith.select %is_single, %single, %close : !llvm.ptr
  %length = func.call @ffi_append_text(%buffer, %end, %tail) : (!llvm.ptr, i64, !llvm.ptr) -> i64
  return %length : i64
}

func.func private @ffi_describe_tensor(%buffer: !llvm.ptr, %tensor: !llvm.ptr) {
  %i1 = arith.constant 1 : i32
  %start = arith.constant 0 : i64
  %name = llvm.alloca %i1 x !any : (i32) -> !llvm.ptr
  %dtype = llvm.getelementptr %tensor[0, 3] : (!llvm.ptr) -> !llvm.ptr, !dl
  %status = llvm.call @TVMFFIDataTypeToString(%dtype, %name) : (!llvm.ptr, !llvm.ptr) -> i32
  %kind = llvm.load %name : !llvm.ptr -> i32
  %small_kind = arith.constant 11 : i32
  %is_small = arith.cmpi eq, %kind, %small_kind : i32
  %payload = llvm.getelementptr %name[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %text, %count = scf.if %is_small -> (!llvm.ptr, i32) {
    %count_at = llvm.getelementptr %name[0, 1] : (!llvm.ptr) -> !llvm.ptr, !any
    %n = llvm.load %count_at : !llvm.ptr -> i32
    scf.yield %payload, %n : !llvm.ptr, i32
  } else {
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %cell = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %data = llvm.load %cell : !llvm.ptr -> !llvm.ptr
    %count_at = llvm.getelementptr %cell[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %n = llvm.load %count_at : !llvm.ptr -> i32
    scf.yield %data, %n : !llvm.ptr, i32
  }
  %format = llvm.mlir.addressof @ffi_tensor : !llvm.ptr
  %a = func.call @ffi_append_slice(%buffer, %start, %format, %count, %text) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i64
  scf.if %is_small {
  } else {
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %released = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  }
  %ndim_at = llvm.getelementptr %tensor[0, 2] : (!llvm.ptr) -> !llvm.ptr, !dl
  %ndim = llvm.load %ndim_at : !llvm.ptr -> i32
  %shape_at = llvm.getelementptr %tensor[0, 4] : (!llvm.ptr) -> !llvm.ptr, !dl
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %b = func.call @ffi_append_sizes(%buffer, %a, %ndim, %shape) : (!llvm.ptr, i64, i32, !llvm.ptr) -> i64
  %compact = func.call @relax_ffi_is_compact(%tensor) : (!llvm.ptr) -> i1
  %c = scf.if %compact -> (i64) {
    scf.yield %b : i64
  } else {
    %open = llvm.mlir.addressof @ffi_strides : !llvm.ptr
    %d = func.call @ffi_append_text(%buffer, %b, %open) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    %strides_at = llvm.getelementptr %tensor[0, 5] : (!llvm.ptr) -> !llvm.ptr, !dl
    %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
    %e = func.call @ffi_append_sizes(%buffer, %d, %ndim, %strides) : (!llvm.ptr, i64, i32, !llvm.ptr) -> i64
    scf.yield %e : i64
  }
  %device_at = llvm.getelementptr %tensor[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, !dl
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %on_cpu = arith.cmpi eq, %device, %i1 : i32
  scf.if %on_cpu {
  } else {
    %index_at = llvm.getelementptr %tensor[0, 1, 1] : (!llvm.ptr) -> !llvm.ptr, !dl
    %index = llvm.load %index_at : !llvm.ptr -> i32
    %on = llvm.mlir.addressof @ffi_device : !llvm.ptr
    %size = arith.constant 512 : i64
    %left = arith.subi %size, %c : i64
    %to = llvm.getelementptr %buffer[%c] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %n = llvm.call @snprintf(%to, %left, %on, %device, %index) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, i32, i32) -> i32
  }
  return
}

func.func private @ffi_describe_object(%buffer: !llvm.ptr, %kind: i32) {
  %start = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %info = llvm.call @TVMFFIGetTypeInfo(%kind) : (i32) -> !llvm.ptr
  %unknown = llvm.icmp "eq" %info, %null : !llvm.ptr
  scf.if %unknown {
    %format = llvm.mlir.addressof @ffi_unknown : !llvm.ptr
    %wide = arith.extsi %kind : i32 to i64
    %n = func.call @ffi_append_number(%buffer, %start, %format, %wide) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
  } else {
    %format = llvm.mlir.addressof @ffi_object : !llvm.ptr
    %text_at = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %text = llvm.load %text_at : !llvm.ptr -> !llvm.ptr
    %count_at = llvm.getelementptr %info[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %count = llvm.load %count_at : !llvm.ptr -> i32
    %n = func.call @ffi_append_slice(%buffer, %start, %format, %count, %text) : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr) -> i64
  }
  return
}
func.func private @ffi_describe(%buffer: !llvm.ptr, %any: !llvm.ptr) {
  %start = arith.constant 0 : i64
  %kind = llvm.load %any : !llvm.ptr -> i32
  %payload = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %bits = llvm.load %payload : !llvm.ptr -> i64
  %selector = arith.index_cast %kind : i32 to index
  scf.index_switch %selector
  case 70 {
    %object = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    %tensor = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
    func.call @ffi_describe_tensor(%buffer, %tensor) : (!llvm.ptr, !llvm.ptr) -> ()
    scf.yield
  }
  case 7 {
    %tensor = llvm.load %payload : !llvm.ptr -> !llvm.ptr
    func.call @ffi_describe_tensor(%buffer, %tensor) : (!llvm.ptr, !llvm.ptr) -> ()
    scf.yield
  }
  case 0 {
    %format = llvm.mlir.addressof @ffi_none : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }
  case 1 {
    %format = llvm.mlir.addressof @ffi_int : !llvm.ptr
    %n = func.call @ffi_append_number(%buffer, %start, %format, %bits) : (!llvm.ptr, i64, !llvm.ptr, i64) -> i64
    scf.yield
  }
  case 2 {
    %format = llvm.mlir.addressof @ffi_bool : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }
  case 3 {
    %format = llvm.mlir.addressof @ffi_float : !llvm.ptr
    %value = arith.bitcast %bits : i64 to f64
    %size = arith.constant 512 : i64
    %n = llvm.call @snprintf(%buffer, %size, %format, %value) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, f64) -> i32
    scf.yield
  }
  case 11 {
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }
  case 8 {
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }
  case 65 {
    %format = llvm.mlir.addressof @ffi_str : !llvm.ptr
    %n = func.call @ffi_append_text(%buffer, %start, %format) : (!llvm.ptr, i64, !llvm.ptr) -> i64
    scf.yield
  }
  default {
    func.call @ffi_describe_object(%buffer, %kind) : (!llvm.ptr, i32) -> ()
    scf.yield
  }
  return
}

func.func private @relax_ffi_argument_error(%kind: !llvm.ptr, %prefix: !llvm.ptr, %expected: !llvm.ptr, %symbol: !llvm.ptr, %value: i64, %any: !llvm.ptr) {
  %i1 = arith.constant 1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %size = arith.constant 2048 : i64
  %given = llvm.alloca %i1 x !llvm.array<512 x i8> : (i32) -> !llvm.ptr
  %message = llvm.alloca %i1 x !llvm.array<2048 x i8> : (i32) -> !llvm.ptr
  func.call @ffi_describe(%given, %any) : (!llvm.ptr, !llvm.ptr) -> ()
  %plain = llvm.icmp "eq" %symbol, %null : !llvm.ptr
  scf.if %plain {
    %format = llvm.mlir.addressof @ffi_message : !llvm.ptr
    %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %given) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  } else {
    %format = llvm.mlir.addressof @ffi_symbol_message : !llvm.ptr
    %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %symbol, %value, %given) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  }
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}
func.func private @relax_ffi_count_error(%prefix: !llvm.ptr, %expected: !llvm.ptr, %given: i32) {
  %i1 = arith.constant 1 : i32
  %size = arith.constant 2048 : i64
  %message = llvm.alloca %i1 x !llvm.array<2048 x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_count_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %given) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
  %kind = llvm.mlir.addressof @ffi_type_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}

func.func private @relax_ffi_size_error(%prefix: !llvm.ptr, %expected: i64, %note: !llvm.ptr, %given: i64) {
  %i1 = arith.constant 1 : i32
  %size = arith.constant 2048 : i64
  %message = llvm.alloca %i1 x !llvm.array<2048 x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_size_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %prefix, %expected, %note, %given) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %kind = llvm.mlir.addressof @ffi_value_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}
func.func private @ffi_missing(%name: !llvm.ptr) {
  %i1 = arith.constant 1 : i32
  %size = arith.constant 2048 : i64
  %message = llvm.alloca %i1 x !llvm.array<2048 x i8> : (i32) -> !llvm.ptr
  %format = llvm.mlir.addressof @ffi_missing_message : !llvm.ptr
  %n = llvm.call @snprintf(%message, %size, %format, %name) vararg(!printf) : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> i32
  %kind = llvm.mlir.addressof @ffi_value_error : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}
