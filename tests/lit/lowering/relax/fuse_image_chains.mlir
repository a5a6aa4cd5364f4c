// RUN: relax-opt %s --relax-zero --relax-fuse-image-chains=always=true | FileCheck %s
// RUN: relax-opt %s --relax-zero --relax-fuse-image-chains | FileCheck %s --check-prefix=SMALL

// A product that makes an image, a depthwise convolution over it and a product behind.
// CHECK-LABEL: func.func private @fused_matmul_conv2d_matmul1(
// CHECK-SAME: Primitive = true
// CHECK: callee = @matmul
// CHECK: callee = @conv2d
// CHECK: callee = @matmul1
// CHECK-LABEL: func.func @chain(
// CHECK-NOT: relax.call_tir
// CHECK: "relax.call"({{.*}}) {callee = @fused_matmul_conv2d_matmul1}

// An image of this size stays in the cache as a whole.
// SMALL-LABEL: func.func @chain(
// SMALL: callee = @matmul
// SMALL: callee = @conv2d
func.func @chain(%x: tensor<1x16x16x8xf32> {relax.name = "x"}, %w: tensor<8x32xf32> {relax.name = "w"}, %d: tensor<3x3x1x32xf32> {relax.name = "d"}, %v: tensor<32x16xf32> {relax.name = "v"}) -> tensor<1x8x8x16xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (tensor<1x16x16x8xf32>, tensor<8x32xf32>) -> tensor<1x16x16x32xf32>
    %b = "relax.nn_conv2d"(%a, %d) {strides = [2, 2], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 32 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC"} : (tensor<1x16x16x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x8x8x32xf32>
    %c = "relax.matmul"(%b, %v) : (tensor<1x8x8x32xf32>, tensor<32x16xf32>) -> tensor<1x8x8x16xf32>
    "relax.output"(%c) : (tensor<1x8x8x16xf32>) -> ()
  }) : () -> tensor<1x8x8x16xf32>
  return %gv : tensor<1x8x8x16xf32>
}

// An image that is also returned has to be written.
// CHECK-LABEL: func.func @returned(
// CHECK: callee = @matmul
// CHECK: callee = @conv2d
func.func @returned(%x: tensor<1x16x16x8xf32> {relax.name = "x"}, %w: tensor<8x32xf32> {relax.name = "w"}, %d: tensor<3x3x1x32xf32> {relax.name = "d"}) -> tuple<tensor<1x16x16x32xf32>, tensor<1x14x14x32xf32>> attributes {relax.attrs = {}} {
  %a = "relax.matmul"(%x, %w) : (tensor<1x16x16x8xf32>, tensor<8x32xf32>) -> tensor<1x16x16x32xf32>
  %b = "relax.nn_conv2d"(%a, %d) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 32 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC"} : (tensor<1x16x16x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x14x14x32xf32>
  %r = "relax.tuple"(%a, %b) : (tensor<1x16x16x32xf32>, tensor<1x14x14x32xf32>) -> tuple<tensor<1x16x16x32xf32>, tensor<1x14x14x32xf32>>
  return %r : tuple<tensor<1x16x16x32xf32>, tensor<1x14x14x32xf32>>
}
