// RUN: relax-opt %s --relax-fold-batchnorm-to-conv2d --relax-dead-code-elimination | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<1x1x4x4xf32> {relax.name = "x"}) -> tensor<1x2x4x4xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.constant"() {value = dense<{{\[\[}}{{\[\[}}1.000000e+00]]], {{\[\[}}[2.000000e+00]]]]> : tensor<2x1x1x1xf32>} : () -> tensor<2x1x1x1xf32>
// CHECK-NEXT: %1 = "relax.nn_conv2d"(%x, %0) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: %2 = "relax.constant"() {value = dense<0.000000e+00> : tensor<1x2x1x1xf32>} : () -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %y = "relax.add"(%1, %2) : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: return %y : tensor<1x2x4x4xf32>
func.func @main(%x: tensor<1x1x4x4xf32> {relax.name = "x"}) -> tensor<1x2x4x4xf32> attributes {relax.attrs = {}} {
  %w = "relax.constant"() {value = dense<[[[[2.000000e+00]]], [[[4.000000e+00]]]]> : tensor<2x1x1x1xf32>} : () -> tensor<2x1x1x1xf32>
  %g = "relax.constant"() {value = dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>} : () -> tensor<2xf32>
  %b = "relax.constant"() {value = dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
  %m = "relax.constant"() {value = dense<[2.000000e+00, 0.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
  %v = "relax.constant"() {value = dense<[3.000000e+00, 0.000000e+00]> : tensor<2xf32>} : () -> tensor<2xf32>
  %a = "relax.nn_conv2d"(%x, %w) : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %bn = "relax.nn_batch_norm"(%a, %g, %b, %m, %v) {axis = 1 : i64, epsilon = 1.000000e+00 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>
  %y = "relax.tuple_get_item"(%bn) {index = 0 : i64} : (tuple<tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}
