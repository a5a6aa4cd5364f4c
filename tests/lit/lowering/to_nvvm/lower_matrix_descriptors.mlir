// RUN: relax-opt %s --gpu-lower-matrix-descriptors | FileCheck %s

// In units of 16 bytes: the address of the element, 8192 / 16 << 16 | 1024 / 16 << 32 | 1 << 62.
// CHECK-LABEL: gpu.func @kernel
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: %[[ROW:.*]] = arith.constant 128 : i64
// CHECK: arith.muli %{{.*}}, %[[ROW]] : i64
// CHECK: %[[MASK:.*]] = arith.constant 262143 : i64
// CHECK: arith.andi %{{.*}}, %[[MASK]] : i64
// CHECK: arith.shrui
// CHECK: %[[REST:.*]] = arith.constant 4611686293338849280 : i64
// CHECK: %[[D:.*]] = arith.ori %{{.*}}, %[[REST]] : i64
// CHECK: memref.store %[[D]]
gpu.module @kernels {
  gpu.func @kernel(%out: memref<1xi64>, %i: index)
      workgroup(%s: memref<64x64xf16, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %d = "tir.matrix_descriptor"(%s, %i, %c0) {leading = 8192 : i64, stride = 1024 : i64}
        : (memref<64x64xf16, #gpu.address_space<workgroup>>, index, index) -> i64
    memref.store %d, %out[%c0] : memref<1xi64>
    gpu.return
  }
}
