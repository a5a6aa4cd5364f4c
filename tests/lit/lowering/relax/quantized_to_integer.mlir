// RUN: relax-opt %s --relax-quantized-to-integer="always=true" | FileCheck %s

// A convolution of bytes in int32: borders of the zero point, channels in fours, the zero point
// times the sums of the weights taken off, and one scale an output.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<1x6x6x3xf32>
// CHECK: %[[P:.*]] = "relax.nn_pad"(%x) {{.*}}pad_width = array<i64: 0, 0, 1, 1, 1, 1, 0, 1>{{.*}} -> tensor<1x8x8x4xui8>
// CHECK: %[[W:.*]] = "relax.constant"{{.*}} tensor<3x3x4x2xi8>
// CHECK: %[[C:.*]] = "relax.nn_conv2d"(%[[P]], %[[W]]) {{.*}}out_dtype = "int32"{{.*}} -> tensor<1x6x6x2xi32>
// CHECK: %[[S:.*]] = "relax.subtract"(%[[C]], {{.*}} -> tensor<1x6x6x2xi32>
// CHECK: %[[F:.*]] = "relax.astype"(%[[S]]) {{.*}} -> tensor<1x6x6x2xf32>
// CHECK: "relax.multiply"(%[[F]], {{.*}} tensor<1x1x1x2xf32>) -> tensor<1x6x6x2xf32>
func.func @main(%x: tensor<1x6x6x3xui8> {relax.name = "x"}) -> tensor<1x6x6x2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.astype"(%x) {dtype = "int32"} : (tensor<1x6x6x3xui8>) -> tensor<1x6x6x3xi32>
  %1 = "relax.constant"() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %2 = "relax.subtract"(%0, %1) : (tensor<1x6x6x3xi32>, tensor<i32>) -> tensor<1x6x6x3xi32>
  %3 = "relax.astype"(%2) {dtype = "float32"} : (tensor<1x6x6x3xi32>) -> tensor<1x6x6x3xf32>
  %4 = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %5 = "relax.multiply"(%3, %4) : (tensor<1x6x6x3xf32>, tensor<f32>) -> tensor<1x6x6x3xf32>
  %6 = "relax.constant"() {value = dense<3> : tensor<3x3x3x2xi8>} : () -> tensor<3x3x3x2xi8>
  %7 = "relax.astype"(%6) {dtype = "int32"} : (tensor<3x3x3x2xi8>) -> tensor<3x3x3x2xi32>
  %8 = "relax.astype"(%7) {dtype = "float32"} : (tensor<3x3x3x2xi32>) -> tensor<3x3x3x2xf32>
  %9 = "relax.constant"() {value = dense<[0.25, 0.5]> : tensor<2xf32>} : () -> tensor<2xf32>
  %10 = "relax.multiply"(%8, %9) : (tensor<3x3x3x2xf32>, tensor<2xf32>) -> tensor<3x3x3x2xf32>
  %11 = "relax.nn_conv2d"(%5, %10) {padding = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x3xf32>, tensor<3x3x3x2xf32>) -> tensor<1x6x6x2xf32>
  return %11 : tensor<1x6x6x2xf32>
}

// Data with a scale for each channel stay as they are.
// CHECK-LABEL: func.func @each_channel
// CHECK: "relax.matmul"{{.*}} (tensor<4x2xf32>, tensor<2x2xf32>)
func.func @each_channel(%x: tensor<4x2xi8> {relax.name = "x"}) -> tensor<4x2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.astype"(%x) {dtype = "int32"} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %1 = "relax.astype"(%0) {dtype = "float32"} : (tensor<4x2xi32>) -> tensor<4x2xf32>
  %2 = "relax.constant"() {value = dense<[0.5, 0.25]> : tensor<2xf32>} : () -> tensor<2xf32>
  %3 = "relax.multiply"(%1, %2) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %4 = "relax.constant"() {value = dense<1> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  %5 = "relax.astype"(%4) {dtype = "float32"} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %6 = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %7 = "relax.multiply"(%5, %6) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %8 = "relax.matmul"(%3, %7) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %8 : tensor<4x2xf32>
}
