// How host code reaches the device that its module was loaded on: see host_device.py.
llvm.mlir.global internal @relax_device_table() {addr_space = 0 : i32} : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
llvm.mlir.global internal @relax_device(2 : i64) {addr_space = 0 : i32} : i64
llvm.mlir.global internal @relax_device_kernels() {addr_space = 0 : i32} : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
llvm.mlir.global internal constant @relax_device_error_kind("RuntimeError\00") {addr_space = 0 : i32}
    : !llvm.array<13 x i8>
llvm.mlir.global internal constant @relax_device_error_message("the library was compiled for a GPU and no device has been set: load it with relax_mlir.runtime.load_module\00")
    {addr_space = 0 : i32} : !llvm.array<107 x i8>
llvm.mlir.global internal constant @relax_device_error_alignment("the memory of a tensor is not aligned to 16 bytes, which the vector accesses of the kernel need: pass a copy of it\00")
    {addr_space = 0 : i32} : !llvm.array<115 x i8>
llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)
llvm.func internal @relax_device_function(%word: i64) -> !llvm.ptr {
  %at = llvm.mlir.addressof @relax_device_table : !llvm.ptr
  %table = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %absent = llvm.icmp "eq" %table, %null : !llvm.ptr
  llvm.cond_br %absent, ^none, ^some
^none:
  %kind = llvm.mlir.addressof @relax_device_error_kind : !llvm.ptr
  %message = llvm.mlir.addressof @relax_device_error_message : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %null : !llvm.ptr
^some:
  %place = llvm.getelementptr %table[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %function = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.return %function : !llvm.ptr
}
llvm.func internal @relax_device_launch(%number: i64, %gx: i64, %gy: i64, %gz: i64, %bx: i64, %by: i64,
    %bz: i64, %shared: i64, %args: !llvm.ptr, %misaligned: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %xy = llvm.mul %gx, %gy : i64
  %blocks = llvm.mul %xy, %gz : i64
  %idle = llvm.icmp "eq" %blocks, %zero : i64
  llvm.cond_br %idle, ^end, ^check
^check:
  %aligned = llvm.icmp "eq" %misaligned, %zero : i64
  llvm.cond_br %aligned, ^find, ^refuse
^refuse:
  %kind = llvm.mlir.addressof @relax_device_error_kind : !llvm.ptr
  %message = llvm.mlir.addressof @relax_device_error_alignment : !llvm.ptr
  llvm.call @TVMFFIErrorSetRaisedFromCStr(%kind, %message) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.br ^end
^find:
  %function = llvm.call @relax_device_function(%c1) : (i64) -> !llvm.ptr
  %absent = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %absent, ^end, ^call
^call:
  %kernels_at = llvm.mlir.addressof @relax_device_kernels : !llvm.ptr
  %kernels = llvm.load %kernels_at : !llvm.ptr -> !llvm.ptr
  %place = llvm.getelementptr %kernels[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %kernel = llvm.load %place : !llvm.ptr -> !llvm.ptr
  %status = llvm.call %function(%kernel, %gx, %gy, %gz, %bx, %by, %bz, %shared, %null, %args) : !llvm.ptr, (!llvm.ptr,
      i64, i64, i64, i64, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}
llvm.func internal @relax_device_alloc(%bytes: i64) -> !llvm.ptr {
  %c2 = llvm.mlir.constant(2 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %function = llvm.call @relax_device_function(%c2) : (i64) -> !llvm.ptr
  %absent = llvm.icmp "eq" %function, %null : !llvm.ptr
  llvm.cond_br %absent, ^none, ^call
^none:
  llvm.return %null : !llvm.ptr
^call:
  %data = llvm.call %function(%bytes) : !llvm.ptr, (i64) -> !llvm.ptr
  llvm.return %data : !llvm.ptr
}
llvm.func internal @relax_device_free(%data: !llvm.ptr) {
  %c3 = llvm.mlir.constant(3 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %nothing = llvm.icmp "eq" %data, %null : !llvm.ptr
  llvm.cond_br %nothing, ^end, ^find
^find:
  %function = llvm.call @relax_device_function(%c3) : (i64) -> !llvm.ptr
  llvm.call %function(%data) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}
func.func @__tvm_ffi___relax_set_device(%handle: !llvm.ptr, %args: !llvm.ptr, %count: i32,
    %result: !llvm.ptr) -> i32 {
  %table_at = llvm.getelementptr %args[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %kernels_at = llvm.getelementptr %args[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %table = llvm.load %table_at : !llvm.ptr -> !llvm.ptr
  %kernels = llvm.load %kernels_at : !llvm.ptr -> !llvm.ptr
  %device = llvm.load %table : !llvm.ptr -> i64
  %own_table = llvm.mlir.addressof @relax_device_table : !llvm.ptr
  %own_device = llvm.mlir.addressof @relax_device : !llvm.ptr
  %own_kernels = llvm.mlir.addressof @relax_device_kernels : !llvm.ptr
  llvm.store %table, %own_table : !llvm.ptr, !llvm.ptr
  llvm.store %device, %own_device : i64, !llvm.ptr
  llvm.store %kernels, %own_kernels : !llvm.ptr, !llvm.ptr
  %zero = arith.constant 0 : i32
  return %zero : i32
}
