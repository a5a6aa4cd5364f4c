// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-fold-constant{moves-only=true})" | FileCheck %s

// What only moves elements is computed without a compiler; sums stay, on the moved constant.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: relax.permute_dims
// CHECK-NOT: relax.reshape
// CHECK: relax.constant
// CHECK-SAME: dense<{{\[\[}}1.000000e+00, 4.000000e+00, 2.000000e+00], [5.000000e+00, 3.000000e+00, 6.000000e+00]]>
// CHECK-NEXT: "relax.add"
// CHECK-NEXT: return
func.func @main() -> tensor<2x3xf32> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
  %t = "relax.permute_dims"(%c) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<[2, 3], 2 : i64>
  %r = "relax.reshape"(%t, %s) : (tensor<3x2xf32>, !relax.shape<[2, 3], 2 : i64>) -> tensor<2x3xf32>
  %u = "relax.add"(%r, %r) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %u : tensor<2x3xf32>
}

// The transposed constant and the constant itself are both needed.
// CHECK-LABEL: func.func @both(
// CHECK-DAG: dense<{{\[\[}}1, 2], [3, 4]]>
// CHECK-DAG: dense<{{\[\[}}1, 3], [2, 4]]>
// CHECK: "relax.tuple"
func.func @both() -> tuple<tensor<2x2xi32>, tensor<2x2xi32>> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  %t = "relax.permute_dims"(%c) : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %r = "relax.tuple"(%c, %t) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tuple<tensor<2x2xi32>, tensor<2x2xi32>>
  return %r : tuple<tensor<2x2xi32>, tensor<2x2xi32>>
}
