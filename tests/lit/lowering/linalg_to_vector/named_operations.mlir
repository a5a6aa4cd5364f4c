// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// A matrix product that is written by name, after a fill: the sums begin with the constant, and the
// fill itself is gone, as it is for generic operations: nothing is stored before the products.
// CHECK-LABEL: func.func @matmul
// CHECK-NOT: vector.store
// CHECK: iter_args
// CHECK-NOT: linalg
func.func @matmul(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) attributes {tir.noalias} {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  return
}
