// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// A depthwise convolution, 40 channels: vectors of channels, each vector of data loaded once for all
// positions it counts for, the last eight channels under a mask.
// CHECK-LABEL: func.func @depthwise
// CHECK-NOT: memref.load
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>
// CHECK-COUNT-3: vector.load {{.*}} vector<16xf32>
// CHECK: math.fma
// CHECK: vector.maskedstore
// CHECK: return
func.func @depthwise(%X: memref<1x10x10x40xf32>, %W: memref<3x3x1x40xf32>, %O: memref<1x8x8x40xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%O : memref<1x8x8x40xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, f + c)>, affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x10x10x40xf32>, memref<3x3x1x40xf32>) outs(%O : memref<1x8x8x40xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Three rows of 14 positions of all 384 channels are more than the first-level cache holds: 144
// channels go over the image, 144 more, and the rest.
// CHECK-LABEL: func.func @many_channels
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 144 : index
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 288 : index
// CHECK-DAG: %[[ALL:.*]] = arith.constant 384 : index
// CHECK: scf.for %[[LOW:.*]] = %{{.*}} to %[[BLOCKS]] step %[[BLOCK]] {
// CHECK: %[[HIGH:.*]] = arith.addi %[[LOW]], %[[BLOCK]] : index
// CHECK: scf.for
// CHECK: math.fma
// CHECK: scf.for {{.*}} = %[[BLOCKS]] to %[[ALL]]
// CHECK: math.fma
// CHECK: return
func.func @many_channels(%X: memref<1x14x14x384xf32>, %W: memref<3x3x1x384xf32>, %O: memref<1x12x12x384xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%O : memref<1x12x12x384xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, f + c)>, affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x14x14x384xf32>, memref<3x3x1x384xf32>) outs(%O : memref<1x12x12x384xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
