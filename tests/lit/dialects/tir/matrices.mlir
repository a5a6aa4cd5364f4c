// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @descriptor
// CHECK: "tir.matrix_descriptor"(%s, %i, %i) {leading = 16 : i64, stride = 1024 : i64}
// CHECK-SAME: (memref<64x64xf16, #gpu.address_space<workgroup>>, index, index) -> i64
func.func @descriptor(%s: memref<64x64xf16, #gpu.address_space<workgroup>>, %i: index) -> i64 {
  %d = "tir.matrix_descriptor"(%s, %i, %i) {leading = 16 : i64, stride = 1024 : i64}
      : (memref<64x64xf16, #gpu.address_space<workgroup>>, index, index) -> i64
  return %d : i64
}
