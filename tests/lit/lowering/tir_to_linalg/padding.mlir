// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-legalize-ops,tir-to-linalg)" | FileCheck %s

// The border in front of a window is a fill and a copy into the middle.
// CHECK-LABEL: func.func private @conv2d
// CHECK: %[[PAD:.*]] = "tir.alloc_buffer"
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[PAD]] : memref<1x8x9x4xf32>)
// CHECK: %[[MIDDLE:.*]] = memref.subview %[[PAD]][0, 2, 1, 0] [1, 5, 6, 4] [1, 1, 1, 1]
// CHECK: linalg.generic {{.*}} ins(%x : memref<1x5x6x4xf32>) outs(%[[MIDDLE]]
// CHECK: linalg.generic {{.*}} ins(%[[PAD]], %w
func.func @main(%x: tensor<1x5x6x4xf32> {relax.name = "x"}, %w: tensor<3x3x4x8xf32> {relax.name = "w"}) -> tensor<1x6x7x8xf32> attributes {relax.attrs = {}} {
  %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = [2, 1, 1, 2]} : (tensor<1x5x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x7x8xf32>
  return %y : tensor<1x6x7x8xf32>
}

// Sizes known at run time: extents that are computed inside of loops, but do not vary there.
// CHECK-LABEL: func.func private @conv2d1
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : memref<?x?x?x4xf32>)
// CHECK: memref.subview
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK-NOT: tir.for
// CHECK: return
func.func @any(%x: tensor<?x?x?x4xf32, #relax.dims<["n", "h", "w", 4]>> {relax.name = "x"}, %w: tensor<3x3x4x8xf32> {relax.name = "w"}) -> tensor<?x?x?x8xf32, #relax.dims<["n", "h", "w", 8]>> attributes {relax.attrs = {}} {
  %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<?x?x?x4xf32, #relax.dims<["n", "h", "w", 4]>>, tensor<3x3x4x8xf32>) -> tensor<?x?x?x8xf32, #relax.dims<["n", "h", "w", 8]>>
  return %y : tensor<?x?x?x8xf32, #relax.dims<["n", "h", "w", 8]>>
}
