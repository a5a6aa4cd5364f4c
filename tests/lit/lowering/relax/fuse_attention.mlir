// RUN: relax-opt %s --relax-zero --relax-fuse-attention | FileCheck %s

// Two products, the scale and the softmax between them become one group.
// CHECK-LABEL: func.func private @fused_matmul_multiply_softmax_matmul1(
// CHECK-SAME: Primitive = true
// CHECK: callee = @fused_matmul_multiply
// CHECK: callee = @softmax
// CHECK: callee = @matmul1
// CHECK-LABEL: func.func @attention(
// CHECK-NOT: relax.call_tir
// CHECK: "relax.call"({{.*}}) {callee = @fused_matmul_multiply_softmax_matmul1}
func.func @attention(%q: tensor<2x32x8xf32> {relax.name = "q"}, %k: tensor<2x8x24xf32> {relax.name = "k"}, %v: tensor<2x24x8xf32> {relax.name = "v"}) -> tensor<2x32x8xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %c = "relax.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %s = "relax.matmul"(%q, %k) : (tensor<2x32x8xf32>, tensor<2x8x24xf32>) -> tensor<2x32x24xf32>
    %t = "relax.multiply"(%s, %c) : (tensor<2x32x24xf32>, tensor<f32>) -> tensor<2x32x24xf32>
    %w = "relax.nn_softmax"(%t) {axis = -1 : i64} : (tensor<2x32x24xf32>) -> tensor<2x32x24xf32>
    %o = "relax.matmul"(%w, %v) : (tensor<2x32x24xf32>, tensor<2x24x8xf32>) -> tensor<2x32x8xf32>
    "relax.output"(%o) : (tensor<2x32x8xf32>) -> ()
  }) : () -> tensor<2x32x8xf32>
  return %gv : tensor<2x32x8xf32>
}

// Scores that are also returned have to be written, so nothing is grouped.
// CHECK-LABEL: func.func @returned(
// CHECK: callee = @softmax
// CHECK: callee = @matmul1
func.func @returned(%q: tensor<2x32x8xf32> {relax.name = "q"}, %k: tensor<2x8x24xf32> {relax.name = "k"}, %v: tensor<2x24x8xf32> {relax.name = "v"}) -> tuple<tensor<2x32x24xf32>, tensor<2x32x8xf32>> attributes {relax.attrs = {}} {
  %s = "relax.matmul"(%q, %k) : (tensor<2x32x8xf32>, tensor<2x8x24xf32>) -> tensor<2x32x24xf32>
  %w = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<2x32x24xf32>) -> tensor<2x32x24xf32>
  %o = "relax.matmul"(%w, %v) : (tensor<2x32x24xf32>, tensor<2x24x8xf32>) -> tensor<2x32x8xf32>
  %r = "relax.tuple"(%w, %o) : (tensor<2x32x24xf32>, tensor<2x32x8xf32>) -> tuple<tensor<2x32x24xf32>, tensor<2x32x8xf32>>
  return %r : tuple<tensor<2x32x24xf32>, tensor<2x32x8xf32>>
}
