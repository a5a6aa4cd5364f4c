// RUN: relax-opt %s --tir-lower-calls --split-input-file | FileCheck %s
// RUN: relax-opt %s --tir-lower-calls --tir-make-packed-api --split-input-file | FileCheck %s --check-prefix=API

// A call of a C function: indices are 64-bit integers, a buffer its address, strings C strings.
// CHECK-LABEL: func.func @extern
// CHECK: llvm.mlir.addressof @__ffi_str_
// CHECK: arith.index_cast {{.*}} : index to i64
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: llvm.inttoptr
// CHECK: %[[R:.*]] = llvm.call @f({{.*}}) : (!llvm.ptr, i64, f32, !llvm.ptr) -> f32
// CHECK: memref.store %[[R]]
// CHECK: "text\00"
// CHECK: llvm.func @f(!llvm.ptr, i64, f32, !llvm.ptr) -> f32
func.func @extern(%A: memref<4xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  %i = arith.constant 1 : index
  %x = memref.load %A[%i] : memref<4xf32>
  %y = "tir.call"(%i, %x, %A) {kind = "extern", callee = "f", literals = ["text", unit, unit, unit]} : (index, f32, memref<4xf32>) -> f32
  memref.store %y, %A[%i] : memref<4xf32>
  return
}

// -----

// A registered function takes Anys; the caller of the kernel looks for an error afterwards.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: ffi.may_raise
// CHECK: llvm.alloca
// CHECK: arith.extf {{.*}} : f32 to f64
// CHECK: llvm.call @relax_ffi_call_global
// CHECK: arith.trunci {{.*}} : i64 to i32
// CHECK: llvm.call @relax_ffi_release
// API-LABEL: func.func @__tvm_ffi_packed
// API: call @packed__kernel
// API-NEXT: %[[STATUS:.*]] = llvm.call @relax_ffi_pending_error()
// API-NEXT: return %[[STATUS]]
func.func @packed(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xi32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  %i = arith.constant 1 : index
  %x = memref.load %A[%i] : memref<4xf32>
  %y = "tir.call"(%x) {kind = "packed", callee = "env.f", literals = [unit]} : (f32) -> i32
  memref.store %y, %B[%i] : memref<4xi32>
  return
}
