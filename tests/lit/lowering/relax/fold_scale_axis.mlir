// RUN: relax-opt %s --relax-fold-scale-axis | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %w = "relax.constant"() {value = dense<[[[[1.000000e+00, 2.000000e+00]]]]> : tensor<1x1x1x2xf32>} : () -> tensor<1x1x1x2xf32>
// CHECK-NEXT: %b = "relax.constant"() {value = dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %h = "relax.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %1 = "relax.constant"() {value = dense<[[[[2.000000e+00, 4.000000e+00]]]]> : tensor<1x1x1x2xf32>} : () -> tensor<1x1x1x2xf32>
// CHECK-NEXT: %2 = "relax.nn_conv2d"(%x, %1) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT: %3 = "relax.constant"() {value = dense<[[[[2.000000e+00, 6.000000e+00]]]]> : tensor<1x1x1x2xf32>} : () -> tensor<1x1x1x2xf32>
// CHECK-NEXT: %s = "relax.add"(%2, %3) : (tensor<1x4x4x2xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT: %r = "relax.nn_relu"(%s) : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
// CHECK-NEXT: "relax.output"(%r) : (tensor<1x4x4x2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<1x4x4x2xf32>
// CHECK-NEXT: return %0 : tensor<1x4x4x2xf32>
func.func @chain(%x: tensor<1x4x4x1xf32> {relax.name = "x"}) -> tensor<1x4x4x2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>} : () -> tensor<1x1x1x2xf32>
    %b = "relax.constant"() {value = dense<[1.0, 3.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %h = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x4x4x2xf32>
    %z = "relax.add"(%y, %b) : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
    %s = "relax.multiply"(%h, %z) : (tensor<f32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
    %r = "relax.nn_relu"(%s) : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
    "relax.output"(%r) : (tensor<1x4x4x2xf32>) -> ()
  }) : () -> tensor<1x4x4x2xf32>
  return %0 : tensor<1x4x4x2xf32>
}

// CHECK-LABEL: func.func @normalised
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %g = "relax.constant"() {value = dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %b = "relax.constant"() {value = dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %m = "relax.constant"() {value = dense<[5.000000e-01, 0.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %v = "relax.constant"() {value = dense<[4.000000e+00, 1.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %1 = "relax.constant"() {value = dense<[[[[1.000000e+00]], [[4.000000e+00]]]]> : tensor<1x2x1x1xf32>} : () -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %2 = "relax.constant"() {value = dense<[[[[5.000000e-01]], [[0.000000e+00]]]]> : tensor<1x2x1x1xf32>} : () -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %3 = "relax.multiply"(%x, %1) : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: %y = "relax.add"(%3, %2) : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: "relax.output"(%y) : (tensor<1x2x4x4xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<1x2x4x4xf32>
// CHECK-NEXT: return %0 : tensor<1x2x4x4xf32>
func.func @normalised(%x: tensor<1x2x4x4xf32> {relax.name = "x"}) -> tensor<1x2x4x4xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %g = "relax.constant"() {value = dense<[2.0, 4.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %b = "relax.constant"() {value = dense<[1.0, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %m = "relax.constant"() {value = dense<[0.5, 0.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %v = "relax.constant"() {value = dense<[4.0, 1.0]> : tensor<2xf32>} : () -> tensor<2xf32>
    %n = "relax.nn_batch_norm"(%x, %g, %b, %m, %v) {axis = 1 : i64, epsilon = 0.0 : f64, training = false} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>
    %y = "relax.tuple_get_item"(%n) {index = 0 : i64} : (tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2x4x4xf32>
    "relax.output"(%y) : (tensor<1x2x4x4xf32>) -> ()
  }) : () -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
