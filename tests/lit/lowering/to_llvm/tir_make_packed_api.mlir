// RUN: relax-opt %s --tir-make-packed-api | FileCheck %s

// A public function gets an exported wrapper under the TVM FFI's calling convention; the kernel
// itself becomes internal, under a name that no C library has.
// CHECK: func.func private @exp__kernel(%A: memref<8xf32> {{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>
func.func @exp(%A: memref<8xf32> {tir.name = "A"}, %k: i32 {tir.name = "k"}) attributes {tir.attrs = {}} {
  // Calls follow the new name.
  // CHECK: call @helper__kernel(
  call @helper(%A) : (memref<8xf32>) -> ()
  return
}

// CHECK: func.func private @helper__kernel(
func.func private @helper(%A: memref<8xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  return
}

// What went wrong is told by name.
// CHECK-DAG: "exp: argument 0 'A': \00"
// CHECK-DAG: "float32 tensor of shape (8,)\00"
// CHECK-DAG: "contiguous float32 tensor of shape (8,)\00"
// CHECK-DAG: "2 arguments (A, k)\00"

// The wrapper checks the number of arguments, then kind, dtype, rank, device, sizes and layout of
// the tensor, then the scalar, and calls the kernel with memrefs.
// CHECK-LABEL: func.func @__tvm_ffi_exp(
// CHECK-SAME: !llvm.ptr, {{.*}}: !llvm.ptr, %[[COUNT:.*]]: i32, {{.*}}: !llvm.ptr) -> i32
// CHECK: arith.cmpi eq, %[[COUNT]],
// CHECK: cf.cond_br
// CHECK: llvm.call @relax_ffi_is_compact
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<8xf32>
// CHECK: arith.trunci {{.*}} : i64 to i32
// CHECK: call @exp__kernel({{.*}}) : (memref<8xf32>, i32) -> ()
// CHECK: llvm.call @relax_ffi_count_error
// CHECK: llvm.call @relax_ffi_argument_error

// CHECK-NOT: @__tvm_ffi_helper
