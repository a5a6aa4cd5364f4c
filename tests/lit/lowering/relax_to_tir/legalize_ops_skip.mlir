// RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops{skip-ops=relax.exp,tanh})' | FileCheck %s

// CHECK-NOT: @tir_exp
// CHECK-LABEL: func.func private @tir_cos(
// CHECK-LABEL: func.func @main(
// CHECK: %lv = "relax.exp"(%x)
// CHECK: %lv1 = "relax.call_tir"(%lv) {callee = @tir_cos}
// CHECK: %lv2 = "relax.tanh"(%lv1)
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %lv = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %lv1 = "relax.cos"(%lv) : (tensor<4xf32>) -> tensor<4xf32>
  %lv2 = "relax.tanh"(%lv1) : (tensor<4xf32>) -> tensor<4xf32>
  return %lv2 : tensor<4xf32>
}
