// RUN: relax-opt %s --relax-eliminate-common-subexpr | FileCheck %s
// RUN: relax-opt %s --relax-eliminate-common-subexpr=call-only=true | FileCheck %s --check-prefix=CALLS

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %a = "relax.exp"(%x)
// CHECK-NEXT: %c = "relax.add"(%a, %a)
// Different attributes are different expressions.
// CHECK-NEXT: %s0 = "relax.sum"(%c) {axis = array<i64: 0>}
// CHECK-NEXT: %s1 = "relax.sum"(%c) {axis = array<i64: 1>}
// What was computed outside a block is known inside, not the other way round.
// CHECK-NEXT: %d = "relax.dataflow"() ({
// CHECK-NEXT: %n = "relax.negative"(%a)
// CHECK-NEXT: "relax.output"(%n)
// CHECK-NEXT: })
// CHECK-NEXT: %n1 = "relax.negative"(%a)
// Calls with effects happen as often as they stand there.
// CHECK-NEXT: "relax.call_packed"
// CHECK-NEXT: "relax.call_packed"
// CHECK-NEXT: %t = "relax.tuple"(%s0, %s1)
// CHECK-NEXT: "relax.tuple"(%t, %t)

// CALLS: %t = "relax.tuple"(%s0, %s1)
// CALLS: %t1 = "relax.tuple"(%s0, %s1)
func.func @main(%x: tensor<4x4xf32> {relax.name = "x"}) -> tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tuple<tensor<4xf32>, tensor<4xf32>>> attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = "relax.add"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s0 = "relax.sum"(%c) {axis = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %s1 = "relax.sum"(%c) {axis = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = "relax.negative"(%e) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "relax.output"(%n) : (tensor<4x4xf32>) -> ()
  }) : () -> tensor<4x4xf32>
  %n1 = "relax.negative"(%b) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = "relax.call_packed"(%x) {callee = "f"} : (tensor<4x4xf32>) -> !relax.object
  %q = "relax.call_packed"(%x) {callee = "f"} : (tensor<4x4xf32>) -> !relax.object
  %t = "relax.tuple"(%s0, %s1) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %t1 = "relax.tuple"(%s0, %s1) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %r = "relax.tuple"(%t, %t1) : (tuple<tensor<4xf32>, tensor<4xf32>>, tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tuple<tensor<4xf32>, tensor<4xf32>>>
  return %r : tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tuple<tensor<4xf32>, tensor<4xf32>>>
}
