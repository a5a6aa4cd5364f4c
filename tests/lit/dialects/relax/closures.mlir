// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %inner = "relax.local_function"() ({
// CHECK: ^bb0(%y: tensor<2xf32>):
// CHECK: "relax.yield"(%z) : (tensor<2xf32>) -> ()
// CHECK: }) {pure = false} : () -> ((tensor<2xf32>) -> tensor<2xf32>)
// CHECK: %loop = "relax.local_function"() ({
// CHECK: ^bb0(%self: (tensor<2xf32>) -> tensor<2xf32>, %x0: tensor<2xf32>):
// CHECK: "relax.call_value"(%self, %x0)
// CHECK: }) {recursive}
// CHECK: %a = "relax.call_value"(%inner, %x)
// CHECK: %b = "relax.call_value"(%f, %a)
func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %f: !relax.object {relax.name = "f"}) -> tensor<2xf32>
    attributes {relax.attrs = {}} {
  %inner = "relax.local_function"() ({
  ^bb0(%y: tensor<2xf32>):
    %z = "relax.add"(%y, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.yield"(%z) : (tensor<2xf32>) -> ()
  }) {pure = false} : () -> ((tensor<2xf32>) -> tensor<2xf32>)
  %loop = "relax.local_function"() ({
  ^bb0(%self: (tensor<2xf32>) -> tensor<2xf32>, %x0: tensor<2xf32>):
    %r = "relax.call_value"(%self, %x0) : ((tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.yield"(%r) : (tensor<2xf32>) -> ()
  }) {recursive} : () -> ((tensor<2xf32>) -> tensor<2xf32>)
  %a = "relax.call_value"(%inner, %x) : ((tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = "relax.call_value"(%f, %a) : (!relax.object, tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}

// CHECK-LABEL: func.func @values
// CHECK: %f = "relax.make_closure"(%x) {callee = @add_to}
// CHECK: %a = "relax.invoke_pure_closure"(%f, %x)
// CHECK: %b = "relax.invoke_closure"(%f, %a)
func.func @values(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %f = "relax.make_closure"(%x) {callee = @add_to} : (tensor<2xf32>) -> !relax.object
  %a = "relax.invoke_pure_closure"(%f, %x) : (!relax.object, tensor<2xf32>) -> tensor<2xf32>
  %b = "relax.invoke_closure"(%f, %a) : (!relax.object, tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
func.func private @add_to(%y: tensor<2xf32> {relax.name = "y"}, %x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32>
    attributes {relax.attrs = {}} {
  %z = "relax.add"(%y, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
