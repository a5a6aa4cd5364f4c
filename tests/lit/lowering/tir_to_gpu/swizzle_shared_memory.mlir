// RUN: relax-opt %s --gpu-swizzle-shared-memory | FileCheck %s

// Chunk c of row r of the tile lies at c xor r mod 8; a fence comes before the barrier.
// CHECK-LABEL: func.func @tile
// CHECK: %[[S:.*]] = memref.alloca() : memref<64x64xf16
// CHECK: %[[C:.*]] = arith.xori
// CHECK: %[[AT:.*]] = affine.apply {{.*}}%[[C]]
// CHECK: memref.store %{{.*}}, %[[S]][%{{.*}}, %[[AT]]]
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK: "tir.matrix_descriptor"(%[[S]]
func.func @tile(%x: f16) attributes {tir.attrs = {}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c64, %sz = %c1) {
    %s = memref.alloca() : memref<64x64xf16, #gpu.address_space<workgroup>>
    memref.store %x, %s[%ty, %tx] : memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.barrier
    %d = "tir.matrix_descriptor"(%s, %c0, %c0) {leading = 16 : i64, stride = 1024 : i64}
        : (memref<64x64xf16, #gpu.address_space<workgroup>>, index, index) -> i64
    gpu.terminator
  }
  return
}

// What no descriptor names stays as it is.
// CHECK-LABEL: func.func @other
// CHECK-NOT: arith.xori
// CHECK-NOT: nvvm.fence.proxy
func.func @other(%x: f16) attributes {tir.attrs = {}} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %s = memref.alloca() : memref<64x64xf16, #gpu.address_space<workgroup>>
    memref.store %x, %s[%ty, %tx] : memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.barrier
    gpu.terminator
  }
  return
}
