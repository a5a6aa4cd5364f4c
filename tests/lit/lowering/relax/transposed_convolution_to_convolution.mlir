// RUN: relax-opt %s --relax-transposed-convolution-to-convolution | FileCheck %s

// Stride two and four taps: a convolution of two taps for each of two remainders an axis, whose
// channels are put beside each other as pixels, without the border.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} tensor<2x2x3x20xf32>
// CHECK: %[[C:.*]] = "relax.nn_conv2d"(%x, %[[W]]) {{.*}}padding = array<i64: 1, 1, 1, 1>{{.*}} -> tensor<1x7x7x20xf32>
// CHECK: "relax.reshape"(%[[C]], {{.*}} -> tensor<1x7x7x2x2x5xf32>
// CHECK: "relax.permute_dims"{{.*}} -> tensor<1x7x2x7x2x5xf32>
// CHECK: "relax.reshape"{{.*}} -> tensor<1x14x14x5xf32>
// CHECK: "relax.strided_slice"{{.*}} -> tensor<1x12x12x5xf32>
func.func @main(%x: tensor<1x6x6x3xf32> {relax.name = "x"}) -> tensor<1x12x12x5xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<4x4x3x5xf32>} : () -> tensor<4x4x3x5xf32>
    %y = "relax.nn_conv2d_transpose"(%x, %w) {strides = 2 : i64, padding = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x3xf32>, tensor<4x4x3x5xf32>) -> tensor<1x12x12x5xf32>
    "relax.output"(%y) : (tensor<1x12x12x5xf32>) -> ()
  }) : () -> tensor<1x12x12x5xf32>
  return %0 : tensor<1x12x12x5xf32>
}

// A weight that is no constant stays.
// CHECK-LABEL: func.func @argument
// CHECK: relax.nn_conv2d_transpose
func.func @argument(%x: tensor<1x6x6x3xf32> {relax.name = "x"}, %w: tensor<4x4x3x5xf32> {relax.name = "w"}) -> tensor<1x14x14x5xf32> attributes {relax.attrs = {}} {
  %y = "relax.nn_conv2d_transpose"(%x, %w) {strides = 2 : i64, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x3xf32>, tensor<4x4x3x5xf32>) -> tensor<1x14x14x5xf32>
  return %y : tensor<1x14x14x5xf32>
}
