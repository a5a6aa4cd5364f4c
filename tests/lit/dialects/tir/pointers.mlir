// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @pointers
// CHECK: %p = "tir.buffer_data"(%A)
// CHECK: %e = "tir.address_of"(%A, %i, %i)
// CHECK: %B = "tir.decl_buffer"(%p, %n) {scope = "shared"} : (!llvm.ptr, index) -> memref<?xi32>
// CHECK: %C = "tir.alloc_const"() {dtype = "uint8", value = dense<[1, 2, 3]> : tensor<3xi8>}
func.func @pointers(%A: memref<8x8xf32> {tir.name = "A"}, %h: !llvm.ptr {tir.name = "h"})
    attributes {tir.attrs = {}} {
  %i = arith.constant 3 : index
  %n = arith.constant 4 : index
  %p = "tir.buffer_data"(%A) : (memref<8x8xf32>) -> !llvm.ptr
  %e = "tir.address_of"(%A, %i, %i) : (memref<8x8xf32>, index, index) -> !llvm.ptr
  %B = "tir.decl_buffer"(%p, %n) {scope = "shared"} : (!llvm.ptr, index) -> memref<?xi32>
  %C = "tir.alloc_const"() {dtype = "uint8", value = dense<[1, 2, 3]> : tensor<3xi8>} : () -> memref<3xi8>
  "tir.call"(%e, %h, %B, %C) {callee = "f", kind = "extern", literals = [unit, unit, unit, unit]}
      : (!llvm.ptr, !llvm.ptr, memref<?xi32>, memref<3xi8>) -> ()
  return
}
