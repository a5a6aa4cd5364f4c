// RUN: relax-opt %s --scf-promote-accumulators | FileCheck %s

// A tile of accumulators is carried through both reduction loops.
// CHECK-LABEL: func.func @tile
// CHECK: %[[A:.*]] = vector.load %arg1
// CHECK: %[[B:.*]] = vector.load %arg1
// CHECK: %[[OUT:.*]]:2 = scf.for {{.*}} iter_args(%[[O1:.*]] = %[[A]], %[[O2:.*]] = %[[B]])
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[O1]], %{{.*}} = %[[O2]])
// CHECK-NOT: vector.store
// CHECK: }
// CHECK: }
// CHECK: vector.store %[[OUT]]#0, %arg1
// CHECK: vector.store %[[OUT]]#1, %arg1
func.func @tile(%X: memref<64x8xf32>, %C: memref<2x8xf32>) attributes {tir.attrs = {tir.noalias = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k0 = %c0 to %c8 step %c1 {
    scf.for %k1 = %c0 to %c8 step %c1 {
      %k = affine.apply affine_map<(d0, d1) -> (d0 * 8 + d1)>(%k0, %k1)
      %x = vector.load %X[%k, %c0] : memref<64x8xf32>, vector<8xf32>
      %a = vector.load %C[%c0, %c0] : memref<2x8xf32>, vector<8xf32>
      %a1 = arith.addf %a, %x : vector<8xf32>
      vector.store %a1, %C[%c0, %c0] : memref<2x8xf32>, vector<8xf32>
      %b = vector.load %C[%c1, %c0] : memref<2x8xf32>, vector<8xf32>
      %b1 = arith.mulf %b, %x : vector<8xf32>
      vector.store %b1, %C[%c1, %c0] : memref<2x8xf32>, vector<8xf32>
    }
  }
  return
}

// Arguments may be the same buffer unless the function says otherwise.
// CHECK-LABEL: func.func @alias
// CHECK-NOT: iter_args
// CHECK: return
func.func @alias(%X: memref<8xf32>, %C: memref<1xf32>) attributes {tir.attrs = {}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %x = memref.load %X[%k] : memref<8xf32>
    %a = memref.load %C[%c0] : memref<1xf32>
    %s = arith.addf %a, %x : f32
    memref.store %s, %C[%c0] : memref<1xf32>
  }
  return
}

// Places that overlap, or move with the loop, stay in memory; so do loops that may not run.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: iter_args
// CHECK: return
func.func @stays(%C: memref<16xf32>, %D: memref<16xf32>, %E: memref<1xf32>, %n: index) attributes {tir.attrs = {tir.noalias = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %a = vector.load %C[%c0] : memref<16xf32>, vector<8xf32>
    vector.store %a, %C[%c1] : memref<16xf32>, vector<8xf32>
    %b = memref.load %D[%k] : memref<16xf32>
    memref.store %b, %D[%c0] : memref<16xf32>
  }
  scf.for %k = %c0 to %n step %c1 {
    %e = memref.load %E[%c0] : memref<1xf32>
    %f = arith.addf %e, %e : f32
    memref.store %f, %E[%c0] : memref<1xf32>
  }
  return
}
