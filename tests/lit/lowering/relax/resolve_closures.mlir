// RUN: relax-opt %s --relax-resolve-closures | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %a = "relax.call"(%x, %y) {callee = @add_to}
// CHECK-NEXT: return %a
func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<2xf32> {relax.name = "y"}) -> tensor<2xf32>
    attributes {relax.attrs = {}} {
  %f = "relax.make_closure"(%y) {callee = @add_to} : (tensor<2xf32>) -> !relax.object
  %a = "relax.invoke_pure_closure"(%f, %x) : (!relax.object, tensor<2xf32>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// A closure that is returned stays.
// CHECK-LABEL: func.func @kept(
// CHECK-NEXT: %f = "relax.make_closure"(%y) {callee = @add_to}
// CHECK-NEXT: return %f
func.func @kept(%y: tensor<2xf32> {relax.name = "y"}) -> !relax.object attributes {relax.attrs = {}} {
  %f = "relax.make_closure"(%y) {callee = @add_to} : (tensor<2xf32>) -> !relax.object
  return %f : !relax.object
}
func.func private @add_to(%y: tensor<2xf32> {relax.name = "y"}, %x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32>
    attributes {relax.attrs = {}} {
  %z = "relax.add"(%y, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
