// RUN: relax-opt %s --llvm-link-ffi-support | FileCheck %s

// A library carries the support functions itself; a module that calls none stays as it is.
// CHECK-NOT: llvm.func @relax_ffi_release(!llvm.ptr){{$}}
// CHECK: llvm.func @user
// CHECK: llvm.call @relax_ffi_release
// CHECK: llvm.func @TVMFFIObjectDecRef
// CHECK: llvm.func internal @relax_ffi_release(
llvm.func @relax_ffi_release(!llvm.ptr)
llvm.func @user(%any: !llvm.ptr) {
  llvm.call @relax_ffi_release(%any) : (!llvm.ptr) -> ()
  llvm.return
}
