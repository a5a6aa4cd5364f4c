// RUN: relax-opt %s --pass-pipeline="builtin.module(linalg-to-vector{vector-width=512})" | FileCheck %s

// Pooling with a border of the lowest value, channels last: the padded copy is not made, the window's
// size is that of a buffer which then is gone, and the eight last channels are done under a mask.
// CHECK-LABEL: func.func @pool
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg
// CHECK: %[[BEFORE:.*]] = arith.maxsi
// CHECK: %[[LAST:.*]] = arith.minsi
// The five columns that the three windows of a row reach are joined over the rows, then the two, three
// and two columns of the windows.
// CHECK: scf.for {{.*}} to %[[LAST]] step {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-5: arith.maximumf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NEXT: scf.yield
// CHECK: }
// CHECK-COUNT-4: arith.maximumf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NEXT: vector.store
// CHECK: vector.maskedload
// CHECK: arith.maximumf
// CHECK: vector.maskedstore
// CHECK-NOT: linalg
// CHECK: return
#id = affine_map<(n, y, x, c) -> (n, y, x, c)>
func.func @pool(%X: memref<1x5x5x24xf32>, %O: memref<1x3x3x24xf32>) attributes {tir.noalias} {
  %lowest = arith.constant 0xFF800000 : f32
  %P = memref.alloc() : memref<1x7x7x24xf32>
  linalg.fill ins(%lowest : f32) outs(%P : memref<1x7x7x24xf32>)
  %inside = memref.subview %P[0, 1, 1, 0] [1, 5, 5, 24] [1, 1, 1, 1] : memref<1x7x7x24xf32> to memref<1x5x5x24xf32, strided<[1176, 168, 24, 1], offset: 192>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x5x5x24xf32>) outs(%inside : memref<1x5x5x24xf32, strided<[1176, 168, 24, 1], offset: 192>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%lowest : f32) outs(%O : memref<1x3x3x24xf32>)
  %window = memref.alloca() : memref<3x3xf32>
  linalg.generic {indexing_maps = [affine_map<(n, y, x, c, ry, rx) -> (n, y * 2 + ry, x * 2 + rx, c)>, affine_map<(n, y, x, c, ry, rx) -> (ry, rx)>, affine_map<(n, y, x, c, ry, rx) -> (n, y, x, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%P, %window : memref<1x7x7x24xf32>, memref<3x3xf32>) outs(%O : memref<1x3x3x24xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %m = arith.maximumf %o, %x : f32
    linalg.yield %m : f32
  }
  return
}

// Another filler counts: the border stays.
// CHECK-LABEL: func.func @zeros
// CHECK: memref.alloc() {{.*}}: memref<1x7x7x24xf32>
// CHECK: return
func.func @zeros(%X: memref<1x5x5x24xf32>, %O: memref<1x3x3x24xf32>) attributes {tir.noalias} {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %P = memref.alloc() : memref<1x7x7x24xf32>
  linalg.fill ins(%zero : f32) outs(%P : memref<1x7x7x24xf32>)
  %inside = memref.subview %P[0, 1, 1, 0] [1, 5, 5, 24] [1, 1, 1, 1] : memref<1x7x7x24xf32> to memref<1x5x5x24xf32, strided<[1176, 168, 24, 1], offset: 192>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%X : memref<1x5x5x24xf32>) outs(%inside : memref<1x5x5x24xf32, strided<[1176, 168, 24, 1], offset: 192>>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  linalg.fill ins(%lowest : f32) outs(%O : memref<1x3x3x24xf32>)
  %window = memref.alloca() : memref<3x3xf32>
  linalg.generic {indexing_maps = [affine_map<(n, y, x, c, ry, rx) -> (n, y * 2 + ry, x * 2 + rx, c)>, affine_map<(n, y, x, c, ry, rx) -> (ry, rx)>, affine_map<(n, y, x, c, ry, rx) -> (n, y, x, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%P, %window : memref<1x7x7x24xf32>, memref<3x3xf32>) outs(%O : memref<1x3x3x24xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %m = arith.maximumf %o, %x : f32
    linalg.yield %m : f32
  }
  return
}
