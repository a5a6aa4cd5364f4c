// RUN: relax-opt %s --relax-decompose-ops-for-inference | FileCheck %s

// The running statistics are used and kept.
// CHECK-LABEL: func.func @main(%x: tensor<2x3x4xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}, %m: tensor<3xf32> {relax.name = "m"}, %v: tensor<3xf32> {relax.name = "v"}) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.expand_dims"(%m) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %1 = "relax.subtract"(%x, %0) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %2 = "relax.expand_dims"(%v) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %3 = "relax.constant"() {value = dense<9.99999974E-6> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %4 = "relax.add"(%2, %3) : (tensor<1x3x1xf32>, tensor<f32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %5 = "relax.sqrt"(%4) : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %6 = "relax.divide"(%1, %5) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %7 = "relax.expand_dims"(%g) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %8 = "relax.multiply"(%6, %7) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %9 = "relax.expand_dims"(%b) {axis = array<i64: 0, 2>} : (tensor<3xf32>) -> tensor<1x3x1xf32>
// CHECK-NEXT: %10 = "relax.add"(%8, %9) : (tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: %bn = "relax.tuple"(%10, %m, %v) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
// CHECK-NEXT: return %bn : tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
func.func @main(%x: tensor<2x3x4xf32> {relax.name = "x"}, %g: tensor<3xf32> {relax.name = "g"}, %b: tensor<3xf32> {relax.name = "b"}, %m: tensor<3xf32> {relax.name = "m"}, %v: tensor<3xf32> {relax.name = "v"}) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>> attributes {relax.attrs = {}} {
  %bn = "relax.nn_batch_norm"(%x, %g, %b, %m, %v) {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  return %bn : tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
}
