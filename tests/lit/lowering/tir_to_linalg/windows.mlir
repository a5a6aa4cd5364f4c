// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-legalize-ops,tir-to-linalg)" | FileCheck %s

// No index of a pooling is a loop of its window: a buffer that nothing reads has the window's size.
// CHECK: #[[DATA:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
// CHECK: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
// CHECK-LABEL: func.func private @max_pool2d
// CHECK: linalg.fill
// CHECK: %[[SIZE:.*]] = memref.alloca() : memref<2x3xf32>
// CHECK: linalg.generic {indexing_maps = [#[[DATA]], #[[WINDOW]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%{{.*}}, %[[SIZE]] : memref<1x6x7x8xf32>, memref<2x3xf32>)
// CHECK: arith.maximumf
func.func @main(%x: tensor<1x6x7x8xf32> {relax.name = "x"}) -> tensor<1x3x3x8xf32> attributes {relax.attrs = {}} {
  %0 = "relax.nn_max_pool2d"(%x) {pool_size = array<i64: 2, 3>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x6x7x8xf32>) -> tensor<1x3x3x8xf32>
  return %0 : tensor<1x3x3x8xf32>
}
