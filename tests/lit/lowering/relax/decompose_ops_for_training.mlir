// RUN: relax-opt %s --relax-decompose-ops-for-training | FileCheck %s

// The batch's statistics are used, the running ones move.
// CHECK-LABEL: func.func @main(%x: tensor<2x3x4xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}, %m: tensor<3xf32> {relax.name = "m"}, %v: tensor<3xf32> {relax.name = "v"}) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.mean"(%x) {axis = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %1 = "relax.variance"(%x) {axis = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = "relax.expand_dims"(%0) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %3 = "relax.subtract"(%x, %2) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %4 = "relax.expand_dims"(%1) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %5 = "relax.constant"() {value = dense<9.99999974E-6> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %6 = "relax.add"(%4, %5) : (tensor<1x3x1xf32>, tensor<f32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %7 = "relax.sqrt"(%6) : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %8 = "relax.divide"(%3, %7) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %9 = "relax.expand_dims"(%g) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %10 = "relax.multiply"(%8, %9) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %11 = "relax.expand_dims"(%b) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %12 = "relax.add"(%10, %11) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %13 = "relax.constant"() {value = dense<0.899999976> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %14 = "relax.multiply"(%13, %m) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %15 = "relax.constant"() {value = dense<1.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %16 = "relax.multiply"(%15, %0) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %17 = "relax.add"(%14, %16) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %18 = "relax.constant"() {value = dense<0.899999976> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %19 = "relax.multiply"(%18, %v) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %20 = "relax.constant"() {value = dense<1.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %21 = "relax.multiply"(%20, %1) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %22 = "relax.add"(%19, %21) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: %bn = "relax.tuple"(%12, %17, %22) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
// CHECK-NEXT: return %bn : tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
func.func @main(%x: tensor<2x3x4xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}, %m: tensor<3xf32> {relax.name = "m"}, %v: tensor<3xf32> {relax.name = "v"}) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>> attributes {relax.attrs = {}} {
  %bn = "relax.nn_batch_norm"(%x, %g, %b, %m, %v) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  return %bn : tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
}

// CHECK-LABEL: func.func @layer(%x: tensor<2x3xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}) -> tensor<2x3xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.mean"(%x) {axis = array<i64: -1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %1 = "relax.subtract"(%x, %0) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = "relax.variance"(%x) {axis = array<i64: -1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %3 = "relax.constant"() {value = dense<9.99999974E-6> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %4 = "relax.add"(%2, %3) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
// CHECK-NEXT: %5 = "relax.sqrt"(%4) : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %6 = "relax.divide"(%1, %5) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %7 = "relax.multiply"(%6, %g) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y = "relax.add"(%7, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %y : tensor<2x3xf32>
func.func @layer(%x: tensor<2x3xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}) -> tensor<2x3xf32> attributes {relax.attrs = {}} {
  %y = "relax.nn_layer_norm"(%x, %g, %b) {axes = array<i64: -1>} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
