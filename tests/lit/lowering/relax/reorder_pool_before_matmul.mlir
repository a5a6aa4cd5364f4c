// RUN: relax-opt %s --relax-reorder-pool-before-matmul | FileCheck %s

// A quarter of the pixels is multiplied, and the bias added to their products.
// CHECK-LABEL: func.func @biased(
// CHECK: %[[AVERAGES:.*]] = "relax.nn_avg_pool2d"(%x) {{.*}} : (tensor<1x8x8x16xf32>) -> tensor<1x4x4x16xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = "relax.matmul"(%[[AVERAGES]], %w) {{.*}} -> tensor<1x4x4x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = "relax.add"(%[[PRODUCT]], %b)
// CHECK-NEXT: return %[[SUM]]
func.func @biased(%x: tensor<1x8x8x16xf32> {relax.name = "x"}, %w: tensor<16x4xf32> {relax.name = "w"}, %b: tensor<4xf32> {relax.name = "b"}) -> tensor<1x4x4x4xf32> attributes {relax.attrs = {}} {
  %m = "relax.matmul"(%x, %w) : (tensor<1x8x8x16xf32>, tensor<16x4xf32>) -> tensor<1x8x8x4xf32>
  %a = "relax.add"(%m, %b) : (tensor<1x8x8x4xf32>, tensor<4xf32>) -> tensor<1x8x8x4xf32>
  %p = "relax.nn_avg_pool2d"(%a) {layout = "NHWC", pool_size = [2, 2], strides = [2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  return %p : tensor<1x4x4x4xf32>
}

// An average of fewer pixels at the border would have less of the bias.
// CHECK-LABEL: func.func @padded(
// CHECK: relax.matmul
// CHECK: relax.nn_avg_pool2d
func.func @padded(%x: tensor<1x8x8x16xf32> {relax.name = "x"}, %w: tensor<16x4xf32> {relax.name = "w"}) -> tensor<1x5x5x4xf32> attributes {relax.attrs = {}} {
  %m = "relax.matmul"(%x, %w) : (tensor<1x8x8x16xf32>, tensor<16x4xf32>) -> tensor<1x8x8x4xf32>
  %p = "relax.nn_avg_pool2d"(%m) {layout = "NHWC", pool_size = [2, 2], strides = [2, 2], padding = [1, 1, 1, 1]} : (tensor<1x8x8x4xf32>) -> tensor<1x5x5x4xf32>
  return %p : tensor<1x5x5x4xf32>
}

// As many averages as pixels, nearly: more would be read than is saved.
// CHECK-LABEL: func.func @overlapping(
// CHECK: relax.matmul
// CHECK: relax.nn_avg_pool2d
func.func @overlapping(%x: tensor<1x8x8x16xf32> {relax.name = "x"}, %w: tensor<16x4xf32> {relax.name = "w"}) -> tensor<1x7x7x4xf32> attributes {relax.attrs = {}} {
  %m = "relax.matmul"(%x, %w) : (tensor<1x8x8x16xf32>, tensor<16x4xf32>) -> tensor<1x8x8x4xf32>
  %p = "relax.nn_avg_pool2d"(%m) {layout = "NHWC", pool_size = [2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x7x7x4xf32>
  return %p : tensor<1x7x7x4xf32>
}

// The product is a result too, and whole numbers are averaged with rounding.
// CHECK-LABEL: func.func @returned(
// CHECK: relax.matmul
// CHECK: relax.nn_avg_pool2d
// CHECK-LABEL: func.func @integers(
// CHECK: relax.matmul
// CHECK: relax.nn_avg_pool2d
func.func @returned(%x: tensor<1x8x8x16xf32> {relax.name = "x"}, %w: tensor<16x4xf32> {relax.name = "w"}) -> tuple<tensor<1x8x8x4xf32>, tensor<1x4x4x4xf32>> attributes {relax.attrs = {}} {
  %m = "relax.matmul"(%x, %w) : (tensor<1x8x8x16xf32>, tensor<16x4xf32>) -> tensor<1x8x8x4xf32>
  %p = "relax.nn_avg_pool2d"(%m) {layout = "NHWC", pool_size = [2, 2], strides = [2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  %r = "relax.tuple"(%m, %p) : (tensor<1x8x8x4xf32>, tensor<1x4x4x4xf32>) -> tuple<tensor<1x8x8x4xf32>, tensor<1x4x4x4xf32>>
  return %r : tuple<tensor<1x8x8x4xf32>, tensor<1x4x4x4xf32>>
}
func.func @integers(%x: tensor<1x8x8x16xi32> {relax.name = "x"}, %w: tensor<16x4xi32> {relax.name = "w"}) -> tensor<1x4x4x4xi32> attributes {relax.attrs = {}} {
  %m = "relax.matmul"(%x, %w) : (tensor<1x8x8x16xi32>, tensor<16x4xi32>) -> tensor<1x8x8x4xi32>
  %p = "relax.nn_avg_pool2d"(%m) {layout = "NHWC", pool_size = [2, 2], strides = [2, 2]} : (tensor<1x8x8x4xi32>) -> tensor<1x4x4x4xi32>
  return %p : tensor<1x4x4x4xi32>
}
