// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-pack-constant-weights{panel=2 minimum=1})" | FileCheck %s
// RUN: relax-opt %s --relax-pack-constant-weights | FileCheck %s --check-prefix=SMALL

// A weight of 2 x 4 becomes two panels of 2 x 2; bias, residual and activation stay with the product.
// CHECK-LABEL: func.func @chain
// CHECK: %[[W:.*]] = "relax.constant"() {value = dense<{{\[\[\[}}1.0{{.*}}, 2.0{{.*}}], [5.0{{.*}}, 6.0{{.*}}]], {{\[\[}}3.0
// CHECK: %[[E:.*]] = "relax.einsum"(%x, %[[W]]) {subscripts = "abk,pkc->abpc"} {{.*}} -> tensor<1x3x2x2xf32>
// CHECK: %[[B:.*]] = "relax.constant"() {{.*}} tensor<2x2xf32>
// CHECK: %[[A:.*]] = "relax.add"(%[[E]], %[[B]])
// CHECK: %[[R:.*]] = "relax.reshape"(%y, {{.*}} -> tensor<1x3x2x2xf32>
// CHECK: %[[S:.*]] = "relax.add"(%[[R]], %[[A]])
// CHECK: %[[G:.*]] = "relax.nn_relu"(%[[S]])
// CHECK: "relax.reshape"(%[[G]], {{.*}} -> tensor<1x3x4xf32>
// SMALL-LABEL: func.func @chain
// SMALL: "relax.matmul"
func.func @chain(%x: tensor<1x3x2xf32> {relax.name = "x"}, %y: tensor<1x3x4xf32> {relax.name = "y"}) -> tensor<1x3x4xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]]> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
    %b = "relax.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
    %t = "relax.permute_dims"(%w) : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %m = "relax.matmul"(%x, %t) {out_dtype = "float32"} : (tensor<1x3x2xf32>, tensor<2x4xf32>) -> tensor<1x3x4xf32>
    %a = "relax.add"(%m, %b) : (tensor<1x3x4xf32>, tensor<4xf32>) -> tensor<1x3x4xf32>
    %s = "relax.add"(%y, %a) : (tensor<1x3x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
    %r = "relax.nn_relu"(%s) : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
    "relax.output"(%r) : (tensor<1x3x4xf32>) -> ()
  }) : () -> tensor<1x3x4xf32>
  return %0 : tensor<1x3x4xf32>
}

// Columns that no panel divides, and products that two others use, keep what they have.
// CHECK-LABEL: func.func @kept
// CHECK: "relax.matmul"
// CHECK-NOT: "relax.einsum"
func.func @kept(%x: tensor<3x2xf32> {relax.name = "x"}) -> tensor<3x3xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %m = "relax.matmul"(%x, %w) {out_dtype = "float32"} : (tensor<3x2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
    "relax.output"(%m) : (tensor<3x3xf32>) -> ()
  }) : () -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
