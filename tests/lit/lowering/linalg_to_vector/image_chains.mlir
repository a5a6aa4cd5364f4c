// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-tile-image-chains{rows=2})" | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-tile-image-chains{rows=2 num-cores=2})" | FileCheck %s --check-prefix=CORES
// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-tile-image-chains)" | FileCheck %s --check-prefix=SMALL

// A product, a depthwise convolution of stride two and its bias, by two rows of the result: the
// image is a buffer of five rows, of which each block makes four and hands the last on.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[IMAGE:.*]] = memref.alloc() {{.*}} : memref<1x5x16x32xf32>
// CHECK: %[[BORDERED:.*]] = memref.alloc() {{.*}} : memref<1x5x18x32xf32>
// The border above the first row.
// CHECK: %[[TOP:.*]] = memref.subview %[[IMAGE]][0, 0, 0, 0] [1, 1, 16, 32]
// CHECK: linalg.fill {{.*}} outs(%[[TOP]]
// CHECK: scf.for
// CHECK: %[[NEW:.*]] = memref.subview %[[IMAGE]][0, 1, 0, 0] [1, 4, 16, 32]
// CHECK: %[[READ:.*]] = memref.subview %arg0[0, %{{.*}}, 0, 0] [1, 4, 16, 8]
// CHECK: linalg.fill {{.*}} outs(%[[NEW]]
// CHECK: linalg.generic {{.*}} ins(%[[READ]], %arg1 {{.*}} outs(%[[NEW]]
// CHECK: linalg.fill {{.*}} outs(%[[BORDERED]]
// CHECK: linalg.generic {{.*}} ins(%[[IMAGE]]
// CHECK: %[[WRITTEN:.*]] = memref.subview %arg3[0, %{{.*}}, 0, 0] [1, 2, 8, 32]
// CHECK: linalg.generic {{.*}} ins(%[[BORDERED]], %arg2
// CHECK: %[[LAST:.*]] = memref.subview %[[IMAGE]][0, 4, 0, 0] [1, 1, 16, 32]
// CHECK: linalg.generic {{.*}} ins(%[[LAST]] {{.*}} outs(%{{.*}}
// CHECK: return

// Each core has a buffer of its own and makes the first row of its piece anew.
// CORES-LABEL: func.func @chain(
// CORES: scf.parallel
// CORES: memref.alloc() {{.*}} : memref<1x5x16x32xf32>
// CORES: linalg.generic {{.*}} outs(%{{.*}} : memref<1x1x16x32xf32
// CORES: scf.for
// CORES: linalg.generic {{.*}} outs(%{{.*}} : memref<1x4x16x32xf32

// What stays in the cache as a whole is left as it is.
// SMALL-LABEL: func.func @chain(
// SMALL-NOT: scf.for
// SMALL: return
func.func @chain(%X: memref<1x16x16x8xf32>, %W: memref<8x32xf32>, %D: memref<3x3x1x32xf32>, %O: memref<1x8x8x32xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %image = memref.alloc() : memref<1x16x16x32xf32>
  linalg.fill ins(%zero : f32) outs(%image : memref<1x16x16x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, c) -> (n, y, x, c)>, affine_map<(n, y, x, f, c) -> (c, f)>, affine_map<(n, y, x, f, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%X, %W : memref<1x16x16x8xf32>, memref<8x32xf32>) outs(%image : memref<1x16x16x32xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  %padded = memref.alloc() : memref<1x18x18x32xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<1x18x18x32xf32>)
  %middle = memref.subview %padded[0, 1, 1, 0] [1, 16, 16, 32] [1, 1, 1, 1] : memref<1x18x18x32xf32> to memref<1x16x16x32xf32, strided<[10368, 576, 32, 1], offset: 608>>
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f) -> (n, y, x, f)>, affine_map<(n, y, x, f) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%image : memref<1x16x16x32xf32>) outs(%middle : memref<1x16x16x32xf32, strided<[10368, 576, 32, 1], offset: 608>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%zero : f32) outs(%O : memref<1x8x8x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx) -> (n, y * 2 + ry, x * 2 + rx, f)>, affine_map<(n, y, x, f, ry, rx) -> (ry, rx, 0, f)>, affine_map<(n, y, x, f, ry, rx) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %D : memref<1x18x18x32xf32>, memref<3x3x1x32xf32>) outs(%O : memref<1x8x8x32xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// Arguments that may overlap: blocks would write what later ones read.
// CHECK-LABEL: func.func @overlapping(
// CHECK-NOT: scf.for
// CHECK: return
func.func @overlapping(%X: memref<1x16x16x8xf32>, %W: memref<8x32xf32>, %D: memref<3x3x1x32xf32>, %O: memref<1x14x14x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %image = memref.alloc() : memref<1x16x16x32xf32>
  linalg.fill ins(%zero : f32) outs(%image : memref<1x16x16x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, c) -> (n, y, x, c)>, affine_map<(n, y, x, f, c) -> (c, f)>, affine_map<(n, y, x, f, c) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%X, %W : memref<1x16x16x8xf32>, memref<8x32xf32>) outs(%image : memref<1x16x16x32xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.fill ins(%zero : f32) outs(%O : memref<1x14x14x32xf32>)
  linalg.generic {indexing_maps = [affine_map<(n, y, x, f, ry, rx) -> (n, y + ry, x + rx, f)>, affine_map<(n, y, x, f, ry, rx) -> (ry, rx, 0, f)>, affine_map<(n, y, x, f, ry, rx) -> (n, y, x, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%image, %D : memref<1x16x16x32xf32>, memref<3x3x1x32xf32>) outs(%O : memref<1x14x14x32xf32>) {
  ^bb0(%x: f32, %w: f32, %c: f32):
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}
