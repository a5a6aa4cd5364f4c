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

// A weight that is an argument is rearranged in the call: zeros for taps that are missing, those of
// each remainder apart and backwards.
// CHECK-LABEL: func.func @argument
// CHECK: "relax.nn_pad"(%w){{.*}} tensor<4x4x3x5xf32>
// CHECK: "relax.reshape"{{.*}} -> tensor<2x2x2x2x1x3x5xf32>
// CHECK: "relax.permute_dims"{{.*}} -> tensor<2x2x3x1x2x2x5xf32>
// CHECK: "relax.reshape"{{.*}} -> tensor<2x2x3x20xf32>
// CHECK: "relax.flip"{{.*}}axis = 0
// CHECK: %[[F:.*]] = "relax.flip"{{.*}}axis = 1
// CHECK: "relax.nn_conv2d"(%x, %[[F]]) {{.*}}-> tensor<1x7x7x20xf32>
// CHECK-NOT: transpose
func.func @argument(%x: tensor<1x6x6x3xf32> {relax.name = "x"}, %w: tensor<3x3x3x5xf32> {relax.name = "w"}) -> tensor<1x13x13x5xf32> attributes {relax.attrs = {}} {
  %y = "relax.nn_conv2d_transpose"(%x, %w) {strides = 2 : i64, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x13x13x5xf32>
  return %y : tensor<1x13x13x5xf32>
}

// Sizes that are symbols, and groups, whose outputs stay together; channels may come first.
// CHECK-LABEL: func.func @groups
// CHECK: "relax.nn_conv1d"(%x, {{.*}}groups = 2 : i64{{.*}}<["n", 12, "w"]>>
// CHECK: "relax.reshape"{{.*}}<["n", 2, 2, 3, "w"]>>
// CHECK: "relax.permute_dims"{{.*}}axes = array<i64: 0, 1, 3, 4, 2>
// CHECK: "relax.reshape"{{.*}}<["n", 6, "w * 2"]>>
func.func @groups(%x: tensor<?x4x?xf32, #relax.dims<["n", 4, "w"]>> {relax.name = "x"}) -> tensor<?x6x?xf32, #relax.dims<["n", 6, "w * 2"]>> attributes {relax.attrs = {}} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<4x3x2xf32>} : () -> tensor<4x3x2xf32>
  %y = "relax.nn_conv1d_transpose"(%x, %w) {strides = 2 : i64, groups = 2 : i64} : (tensor<?x4x?xf32, #relax.dims<["n", 4, "w"]>>, tensor<4x3x2xf32>) -> tensor<?x6x?xf32, #relax.dims<["n", 6, "w * 2"]>>
  return %y : tensor<?x6x?xf32, #relax.dims<["n", 6, "w * 2"]>>
}
