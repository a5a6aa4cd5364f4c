// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// Groups of four channels and four outputs: four groups together, whose 16 channels are a vector of
// data that a shuffle spreads once for each channel of a group; the last two groups under a mask.
// Sizes of images may be known at run time only.
// CHECK-LABEL: func.func @narrow_groups
// CHECK-NOT: memref.load
// CHECK-NOT: linalg
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>
// CHECK: %[[D:.*]] = vector.load {{.*}} vector<16xf32>
// CHECK: %[[FIRST:.*]] = vector.shuffle %[[D]], %[[D]] [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]
// CHECK: vector.shuffle %[[D]], %[[D]] [1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13]
// CHECK: %[[W:.*]] = vector.load {{.*}} vector<16xf32>
// CHECK: math.fma %[[FIRST]], %[[W]]
// CHECK: vector.maskedstore
// CHECK: return
func.func @narrow_groups(%X: memref<1x?x?x24xf32>, %W: memref<3x3x4x24xf32>, %O: memref<1x?x?x24xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%O : memref<1x?x?x24xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, (f floordiv 4) * 4 + c)>, affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x?x?x24xf32>, memref<3x3x4x24xf32>) outs(%O : memref<1x?x?x24xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// A depthwise convolution with three outputs a channel: five groups together, 15 of 16 lanes.
// CHECK-LABEL: func.func @multiplier
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4]
// CHECK: vector.maskedstore
// CHECK: return
func.func @multiplier(%X: memref<1x10x10x10xf32>, %W: memref<3x3x1x30xf32>, %O: memref<1x8x8x30xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%O : memref<1x8x8x30xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx, c) -> (n, y + ry, x + rx, f floordiv 3 + c)>, affine_map<(n, y, x, f, ry, rx, c) -> (ry, rx, c, f)>, affine_map<(n, y, x, f, ry, rx, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%X, %W : memref<1x10x10x10xf32>, memref<3x3x1x30xf32>) outs(%O : memref<1x8x8x30xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
