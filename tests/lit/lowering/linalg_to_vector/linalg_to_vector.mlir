// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=256})" | FileCheck %s

// A product with a relu: tiles in registers, the fill and the relu inside, no temporary.
// CHECK-LABEL: func.func @product_relu
// CHECK-NOT: linalg
// CHECK-NOT: memref.alloc
// CHECK: %[[TILE:.*]]:{{[0-9]+}} = scf.for
// CHECK: vector.load %{{.*}} : memref<512xf32>, vector<8xf32>
// CHECK: vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: math.fma
// CHECK: scf.yield
// CHECK: arith.maximumf %[[TILE]]#0
// CHECK: vector.store
func.func @product_relu(%a: memref<16x16xf32>, %b: memref<16x32xf32>, %c: memref<16x32xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16x32xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<16x16xf32>, memref<16x32xf32>) outs(%t : memref<16x32xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%t : memref<16x32xf32>) outs(%c : memref<16x32xf32>) {
  ^bb0(%x: f32, %o: f32):
    %r = arith.maximumf %x, %zero : f32
    linalg.yield %r : f32
  }
  return
}

// Rows are summed along their elements, in several accumulators, the rest under a mask.
// CHECK-LABEL: func.func @row_sum
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: vector.constant_mask [2]
// CHECK: vector.maskedload
// CHECK: vector.reduction <add>
// CHECK: memref.store
func.func @row_sum(%a: memref<4x98xf32>, %c: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<4xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<4x98xf32>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  }
  return
}

// A transpose goes through square register tiles.
// CHECK-LABEL: func.func @transpose
// CHECK-COUNT-24: vector.shuffle
func.func @transpose(%a: memref<16x32xf32>, %c: memref<32x16xf32>) attributes {tir.noalias} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<16x32xf32>) outs(%c : memref<32x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// Two planes are interleaved: two loads, two shuffles, two stores of whole vectors.
// CHECK-LABEL: func.func @interleave
// CHECK-COUNT-2: vector.load
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [4, 12, 5, 13, 6, 14, 7, 15]
// CHECK-COUNT-2: vector.store
// CHECK-NOT: vector.maskedstore
func.func @interleave(%a: memref<2x32xf32>, %c: memref<32x2xf32>) attributes {tir.noalias} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<2x32xf32>) outs(%c : memref<32x2xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// What reads memory by computed indices becomes scalar loops.
// CHECK-LABEL: func.func @gather
// CHECK-NOT: vector
// CHECK: scf.for
// CHECK: memref.load
func.func @gather(%table: memref<100xf32>, %i: memref<8xi32>, %c: memref<8xf32>) attributes {tir.noalias} {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : memref<8xi32>) outs(%c : memref<8xf32>) {
  ^bb0(%x: i32, %o: f32):
    %index = arith.index_cast %x : i32 to index
    %v = memref.load %table[%index] : memref<100xf32>
    linalg.yield %v : f32
  }
  return
}
