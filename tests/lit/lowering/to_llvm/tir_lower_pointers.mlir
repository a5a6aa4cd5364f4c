// RUN: relax-opt --pass-pipeline='builtin.module(tir-lower-pointers)' %s | FileCheck %s

// CHECK: memref.global "private" constant @constants_const_0 : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>

// A buffer on another's data is that buffer in another shape; the function is marked.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: tir.addresses
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [2, 8], strides: [8, 1] : memref<16xf32> to memref<2x8xf32>
func.func @reshaped(%A: memref<16xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1.0 : f32
  %p = "tir.buffer_data"(%A) : (memref<16xf32>) -> !llvm.ptr
  %B = "tir.decl_buffer"(%p) {operandSegmentSizes = array<i32: 1, 0>, scope = "global"} : (!llvm.ptr) -> memref<2x8xf32>
  memref.store %c1, %B[%c0, %c0] : memref<2x8xf32>
  return
}

// On any other address it is made of a pointer.
// CHECK-LABEL: func.func @moved
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: arith.constant 4 : index
// CHECK: llvm.inttoptr
// CHECK: llvm.insertvalue %{{.*}}[3, 0]
// CHECK: builtin.unrealized_conversion_cast %{{.*}} to memref<8xf32>
func.func @moved(%A: memref<16xf32> {tir.name = "A"}, %i: index {tir.name = "i"}) attributes {tir.attrs = {}} {
  %c1 = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %p = "tir.address_of"(%A, %i) {operandSegmentSizes = array<i32: 1, 1>} : (memref<16xf32>, index) -> !llvm.ptr
  %B = "tir.decl_buffer"(%p) {operandSegmentSizes = array<i32: 1, 0>, scope = "global"} : (!llvm.ptr) -> memref<8xf32>
  memref.store %c1, %B[%c0] : memref<8xf32>
  return
}

// CHECK-LABEL: func.func @constants
// CHECK-NOT: tir.addresses
// CHECK: memref.get_global @constants_const_0
func.func @constants(%A: memref<2xf32> {tir.name = "A"}, %i: index {tir.name = "i"}) attributes {tir.attrs = {}} {
  %c = "tir.alloc_const"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> memref<2xf32>
  %v = memref.load %c[%i] : memref<2xf32>
  memref.store %v, %A[%i] : memref<2xf32>
  return
}
