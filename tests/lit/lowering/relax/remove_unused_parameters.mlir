// RUN: relax-opt %s --relax-remove-unused-parameters | FileCheck %s

// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: %a: tensor<4xf32> {relax.name = "a"}) -> tensor<4xf32>
func.func private @callee(%a: tensor<4xf32> {relax.name = "a"}, %b: tensor<2xf32> {relax.name = "b"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  return %a : tensor<4xf32>
}

// The second parameter is not used, but only its type says what n is.
// CHECK-LABEL: func.func private @symbol(
// CHECK-SAME: %s: !relax.shape
func.func private @symbol(%a: tensor<4xf32> {relax.name = "a"}, %s: !relax.shape<["n"], 1> {relax.name = "s"}) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %n = "relax.shape_expr"() : () -> !relax.shape<["n"], 1>
  %f = "relax.call_dps_packed"(%a) {callee = "f"} : (tensor<4xf32>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %f : tensor<?xf32, #relax.dims<["n"]>>
}

// Public functions keep their signature.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %unused: tensor<2xf32>
// CHECK-NEXT: %c = "relax.call"(%x) {callee = @callee} : (tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %y: tensor<2xf32> {relax.name = "y"}, %unused: tensor<2xf32> {relax.name = "unused"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %c = "relax.call"(%x, %y) {callee = @callee} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
