// Tensors and other objects of host code: making, owning, releasing, calling.
//
// Read by ffi_support.py, which puts type aliases and declarations in front.

llvm.mlir.global internal constant @ffi_memory_error("MemoryError\00")
llvm.mlir.global internal constant @ffi_no_memory("cannot allocate a tensor\00")
llvm.mlir.global internal constant @ffi_no_temporary("cannot allocate a temporary buffer\00")
llvm.mlir.global internal constant @ffi_value_error("ValueError\00")
llvm.mlir.global internal constant @ffi_negative("cannot allocate a tensor: a size is negative\00")

// True for row-major memory without gaps. Sizes of one have any stride; empty tensors any strides.
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

// The view has sizes and strides of its own and keeps a reference of the tensor whose memory it is.
func.func private @relax_ffi_new_view(%source: !llvm.ptr, %data: !llvm.ptr, %ndim: i32, %shape: !llvm.ptr, %dtype: i32, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %strides = llvm.alloca %ndim x i64 : (i32) -> !llvm.ptr
  %last = arith.subi %ndim, %i1 : i32
  %elements = scf.for %i = %i0 to %ndim step %i1 iter_args(%step = %l1) -> (i64) : i32 {
    %axis = arith.subi %last, %i : i32
    %size_at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %size = llvm.load %size_at : !llvm.ptr -> i64
    %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    llvm.store %step, %stride_at : i64, !llvm.ptr
    %wider = arith.muli %step, %size : i64
    scf.yield %wider : i64
  }
  %source_at = llvm.getelementptr %source[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %tensor = llvm.load %source_at : !llvm.ptr -> !llvm.ptr
  %device_at = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %device = llvm.load %device_at : !llvm.ptr -> i64
  %view = llvm.alloca %i1 x !dl : (i32) -> !llvm.ptr
  llvm.store %data, %view : !llvm.ptr, !llvm.ptr
  %own_device = llvm.getelementptr %view[0, 1] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %device, %own_device : i64, !llvm.ptr
  %ndim_at = llvm.getelementptr %view[0, 2] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %ndim, %ndim_at : i32, !llvm.ptr
  %dtype_at = llvm.getelementptr %view[0, 3] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %dtype, %dtype_at : i32, !llvm.ptr
  %shape_at = llvm.getelementptr %view[0, 4] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %shape, %shape_at : !llvm.ptr, !llvm.ptr
  %strides_at = llvm.getelementptr %view[0, 5] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %strides, %strides_at : !llvm.ptr, !llvm.ptr
  %offset = llvm.getelementptr %view[0, 6] : (!llvm.ptr) -> !llvm.ptr, !dl
  llvm.store %l0, %offset : i64, !llvm.ptr
  %handle = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
  %made = llvm.call @TVMFFITensorCreateUnsafeView(%tensor, %view, %handle) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %ok = arith.cmpi eq, %made, %i0 : i32
  scf.if %ok {
    %tensor_kind = arith.constant 70 : i32
    llvm.store %tensor_kind, %out : i32, !llvm.ptr
  }
  return %made : i32
}

// One block holds DLManagedTensorVersioned (80 bytes), sizes, strides and the data, which starts at
// the next multiple of 64. The deleter is libc's free: a tensor may outlive the code that made it.
func.func private @relax_ffi_new_tensor(%ndim: i32, %shape: !llvm.ptr, %dtype: i32, %bytes: i64, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %l0 = arith.constant 0 : i64
  %l1 = arith.constant 1 : i64
  %alignment = arith.constant 64 : i64
  %head = arith.constant 143 : i64
  %mask = arith.constant -64 : i64
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
  %sizes = llvm.getelementptr %block[80] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.getelementptr %sizes[%ndim] : (!llvm.ptr, i32) -> !llvm.ptr, i64
  %data = llvm.getelementptr %block[%header] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %last = arith.subi %ndim, %i1 : i32
  %elements = scf.for %i = %i0 to %ndim step %i1 iter_args(%step = %l1) -> (i64) : i32 {
    %axis = arith.subi %last, %i : i32
    %from = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %extent = llvm.load %from : !llvm.ptr -> i64
    %size_at = llvm.getelementptr %sizes[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    llvm.store %extent, %size_at : i64, !llvm.ptr
    %stride_at = llvm.getelementptr %strides[%axis] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    llvm.store %step, %stride_at : i64, !llvm.ptr
    %wider = arith.muli %step, %extent : i64
    scf.yield %wider : i64
  }
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
  %tensor_kind = arith.constant 70 : i32
  llvm.store %tensor_kind, %out : i32, !llvm.ptr
  return %i0 : i32
}

// A bare DLTensor* (kind 7) is copied, views of strings (8 to 10) become objects.
func.func private @relax_ffi_own(%any: !llvm.ptr, %out: !llvm.ptr) -> i32 {
  %i0 = arith.constant 0 : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %pointer_kind = arith.constant 7 : i32
  %object_kind = arith.constant 64 : i32
  %small_kind = arith.constant 11 : i32
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
}
func.func private @relax_ffi_release(%any: !llvm.ptr) {
  %i0 = arith.constant 0 : i32
  %kind = llvm.load %any : !llvm.ptr -> i32
  %object_kind = arith.constant 64 : i32
  %is_object = arith.cmpi sge, %kind, %object_kind : i32
  scf.if %is_object {
    %payload_at = llvm.getelementptr %any[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
    %payload = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
    %released = llvm.call @TVMFFIObjectDecRef(%payload) : (!llvm.ptr) -> i32
  }
  llvm.store %i0, %any : i32, !llvm.ptr
  return
}
func.func private @ffi_copy_tensor(%tensor: !llvm.ptr, %out: !llvm.ptr) -> i32 {
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
  %elements = scf.for %i = %i0 to %ndim step %i1 iter_args(%count = %l1) -> (i64) : i32 {
    %size_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i64
    %size = llvm.load %size_at : !llvm.ptr -> i64
    %more = arith.muli %count, %size : i64
    scf.yield %more : i64
  }
  %word = arith.extui %dtype : i32 to i64
  %shifted = arith.shrui %word, %l8 : i64
  %width = arith.andi %shifted, %l255 : i64
  %bits = arith.muli %elements, %width : i64
  %rounded = arith.addi %bits, %l7 : i64
  %bytes = arith.shrui %rounded, %l3 : i64
  %status = func.call @relax_ffi_new_tensor(%ndim, %shape, %dtype, %bytes, %out) : (i32, !llvm.ptr, i32, i64, !llvm.ptr) -> i32
  %made = arith.cmpi eq, %status, %i0 : i32
  scf.if %made {
    %payload_at = llvm.getelementptr %out[0, 2] : (!llvm.ptr) -> !llvm.ptr, !any
    %object = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
    %inside = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %to = llvm.load %inside : !llvm.ptr -> !llvm.ptr
    %base = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
    %offset_at = llvm.getelementptr %tensor[0, 6] : (!llvm.ptr) -> !llvm.ptr, !dl
    %offset = llvm.load %offset_at : !llvm.ptr -> i64
    %from = llvm.getelementptr %base[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %done = llvm.call @memcpy(%to, %from, %bytes) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  }
  return %status : i32
}

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

// TVMFFIErrorMoveFromRaised takes the error out of the thread and hands over its reference; putting
// it back takes a new one.
func.func private @relax_ffi_pending_error() -> i32 {
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %fail = arith.constant -1 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
  llvm.store %null, %slot : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%slot) : (!llvm.ptr) -> ()
  %error = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %none = llvm.icmp "eq" %error, %null : !llvm.ptr
  %status = arith.select %none, %i0, %fail : i32
  scf.if %none {
  } else {
    llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
    %released = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  }
  return %status : i32
}

// Asks for memory and gives it back, unless it is so little that it is there. The size is that of a
// temporary which is allocated next.
func.func private @relax_ffi_reserve(%bytes: i64) -> i1 {
  %true = arith.constant true
  %little = arith.constant 67108864 : i64
  %few = arith.cmpi ule, %bytes, %little : i64
  %there = scf.if %few -> (i1) {
    scf.yield %true : i1
  } else {
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %alignment = arith.constant 64 : i64
    %slot = llvm.alloca %i1 x !llvm.ptr : (i32) -> !llvm.ptr
    %status = llvm.call @posix_memalign(%slot, %alignment, %bytes) : (!llvm.ptr, i64, i64) -> i32
    %got = arith.cmpi eq, %status, %i0 : i32
    scf.if %got {
      %block = llvm.load %slot : !llvm.ptr -> !llvm.ptr
      llvm.call @free(%block) : (!llvm.ptr) -> ()
    } else {
      %kind = llvm.mlir.addressof @ffi_memory_error : !llvm.ptr
      %text = llvm.mlir.addressof @ffi_no_temporary : !llvm.ptr
      llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %text) : (!llvm.ptr, !llvm.ptr) -> ()
    }
    scf.yield %got : i1
  }
  return %there : i1
}
