// RUN: relax-opt %s --relax-inline-private-functions | FileCheck %s

// CHECK-NOT: @double
// CHECK-NOT: @quadruple
// Recursive functions stay.
// CHECK: func.func private @forever
func.func private @double(%a: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "a"}) -> tensor<?xf32, #relax.dims<["m"]>> attributes {relax.attrs = {}} {
  %r = "relax.dataflow"() ({
    %s = "relax.add"(%a, %a) : (tensor<?xf32, #relax.dims<["m"]>>, tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["m"]>>
    "relax.output"(%s) : (tensor<?xf32, #relax.dims<["m"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.dims<["m"]>>
  return %r : tensor<?xf32, #relax.dims<["m"]>>
}
func.func private @quadruple(%a: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "a"}) -> tensor<?xf32, #relax.dims<["m"]>> attributes {relax.attrs = {}} {
  %b = "relax.call"(%a) {callee = @double} : (tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["m"]>>
  %c = "relax.call"(%b) {callee = @double} : (tensor<?xf32, #relax.dims<["m"]>>) -> tensor<?xf32, #relax.dims<["m"]>>
  return %c : tensor<?xf32, #relax.dims<["m"]>>
}
func.func private @forever(%a: tensor<4xf32> {relax.name = "a"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %b = "relax.call"(%a) {callee = @forever} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// Symbols of the callee are what they are at the call; a dataflow block of the callee dissolves in
// the caller's.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %s = "relax.add"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: %[[LV:.*]] = "relax.add"(%s, %s) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: "relax.output"(%[[LV]])
// CHECK-NEXT: })
// CHECK-NEXT: "relax.call"(%y) {callee = @forever}
func.func @main(%x: tensor<8xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<8xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.call"(%x) {callee = @quadruple} : (tensor<8xf32>) -> tensor<8xf32>
    "relax.output"(%lv) : (tensor<8xf32>) -> ()
  }) : () -> tensor<8xf32>
  %z = "relax.call"(%y) {callee = @forever} : (tensor<4xf32>) -> tensor<4xf32>
  return %gv : tensor<8xf32>
}
