// RUN: relax-opt %s --relax-fold-constant | FileCheck %s

// Calls on constants are compiled and run; the chain becomes one constant.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %lv1 = "relax.constant"() {value = dense<{{\[\[}}3.000000e+00, 6.000000e+00], [9.000000e+00, 1.200000e+01]]>
// CHECK-NEXT: %lv2 = "relax.add"(%lv1, %x)
// CHECK-NEXT: "relax.output"(%lv2)
func.func @main(%x: tensor<2x2xf32> {relax.name = "x"}) -> tensor<2x2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %c = "relax.constant"() {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
    %lv = "relax.add"(%c, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %lv1 = "relax.add"(%lv, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %lv2 = "relax.add"(%lv1, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    "relax.output"(%lv2) : (tensor<2x2xf32>) -> ()
  }) : () -> tensor<2x2xf32>
  return %gv : tensor<2x2xf32>
}

// The transposed constant is used twice and stays one.
// CHECK-LABEL: func.func @shared(
// CHECK: %t = "relax.constant"() {value = dense<{{\[\[}}1, 3], [2, 4]]>
// CHECK-NEXT: %u = "relax.constant"() {value = dense<{{\[\[}}2, 6], [4, 8]]>
// CHECK-NEXT: "relax.tuple"(%t, %u)
func.func @shared() -> tuple<tensor<2x2xi32>, tensor<2x2xi32>> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  %t = "relax.permute_dims"(%c) : (tensor<2x2xi32>) -> tensor<2x2xi32>
  %u = "relax.add"(%t, %t) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %r = "relax.tuple"(%t, %u) : (tensor<2x2xi32>, tensor<2x2xi32>) -> tuple<tensor<2x2xi32>, tensor<2x2xi32>>
  return %r : tuple<tensor<2x2xi32>, tensor<2x2xi32>>
}

// Constants that nothing needs computed stay, and so do calls of unknown functions.
// CHECK-LABEL: func.func @stays(
// CHECK-NEXT: %c = "relax.constant"
// CHECK-NEXT: %p = "relax.call_pure_packed"(%c)
// CHECK-NEXT: return %c
func.func @stays() -> tensor<2xf32> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %p = "relax.call_pure_packed"(%c) {callee = "f"} : (tensor<2xf32>) -> tensor<2xf32>
  return %c : tensor<2xf32>
}
