// RUN: relax-opt %s --relax-convert-layout | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<1x3x8x8xf32> {relax.name = "x"}, %w: tensor<4x3x3x3xf32> {relax.name = "w"}, %b: tensor<4x1x1xf32> {relax.name = "b"}) -> tensor<36xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %1 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
// CHECK-NEXT: %2 = "relax.permute_dims"(%w) {axes = array<i64: 0, 2, 3, 1>} : (tensor<4x3x3x3xf32>) -> tensor<4x3x3x3xf32>
// CHECK-NEXT: %y = "relax.nn_conv2d"(%1, %2) {data_layout = "NHWC", kernel_layout = "OHWI", out_layout = "NHWC"} : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x6x6x4xf32>
// CHECK-NEXT: %3 = "relax.expand_dims"(%b) {axis = array<i64: 0>} : (tensor<4x1x1xf32>) -> tensor<1x4x1x1xf32>
// CHECK-NEXT: %4 = "relax.permute_dims"(%3) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x4x1x1xf32>) -> tensor<1x1x1x4xf32>
// CHECK-NEXT: %z = "relax.add"(%y, %4) : (tensor<1x6x6x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x6x6x4xf32>
// CHECK-NEXT: %p = "relax.nn_max_pool2d"(%z) {layout = "NHWC", pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x6x6x4xf32>) -> tensor<1x3x3x4xf32>
// CHECK-NEXT: %5 = "relax.permute_dims"(%p) {axes = array<i64: 0, 3, 1, 2>} : (tensor<1x3x3x4xf32>) -> tensor<1x4x3x3xf32>
// CHECK-NEXT: %s = "relax.flatten"(%5) : (tensor<1x4x3x3xf32>) -> tensor<36xf32>
// CHECK-NEXT: "relax.output"(%s) : (tensor<36xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<36xf32>
// CHECK-NEXT: return %0 : tensor<36xf32>
func.func @main(%x: tensor<1x3x8x8xf32> {relax.name = "x"}, %w: tensor<4x3x3x3xf32> {relax.name = "w"}, %b: tensor<4x1x1xf32> {relax.name = "b"}) -> tensor<36xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.nn_conv2d"(%x, %w) : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
    %z = "relax.add"(%y, %b) : (tensor<1x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<1x4x6x6xf32>
    %p = "relax.nn_max_pool2d"(%z) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32>
    %s = "relax.flatten"(%p) : (tensor<1x4x3x3xf32>) -> tensor<36xf32>
    "relax.output"(%s) : (tensor<36xf32>) -> ()
  }) : () -> tensor<36xf32>
  return %0 : tensor<36xf32>
}
