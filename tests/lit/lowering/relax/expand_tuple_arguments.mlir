// RUN: relax-opt %s --relax-expand-tuple-arguments | FileCheck %s

// CHECK-LABEL: func.func private @inner(%p_0: tensor<2xf32> {relax.name = "p_0"}, %p_1_0: tensor<2xf32> {relax.name = "p_1_0"}, %p_1_1: tensor<3xf32> {relax.name = "p_1_1"}, %q: tensor<2xf32> {relax.name = "q"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.tuple"(%p_1_0, %p_1_1) : (tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<2xf32>, tensor<3xf32>>
// CHECK-NEXT: %1 = "relax.tuple"(%p_0, %0) : (tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>
// CHECK-NEXT: %a = "relax.tuple_get_item"(%1) {index = 1 : i64} : (tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>) -> tuple<tensor<2xf32>, tensor<3xf32>>
// CHECK-NEXT: %b = "relax.tuple_get_item"(%a) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %gv = "relax.add"(%b, %q) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %gv : tensor<2xf32>
// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %t: tuple<tensor<2xf32>, tensor<3xf32>> {relax.name = "t"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.tuple"(%x, %t) : (tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>
// CHECK-NEXT: %1 = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %2 = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
// CHECK-NEXT: %y = "relax.call"(%x, %1, %2, %x) {callee = @inner} : (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %y : tensor<2xf32>
func.func private @inner(%p: tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>> {relax.name = "p"}, %q: tensor<2xf32> {relax.name = "q"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %a = "relax.tuple_get_item"(%p) {index = 1 : i64} : (tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>) -> tuple<tensor<2xf32>, tensor<3xf32>>
  %b = "relax.tuple_get_item"(%a) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2xf32>
  %gv = "relax.add"(%b, %q) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %gv : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %t: tuple<tensor<2xf32>, tensor<3xf32>> {relax.name = "t"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.tuple"(%x, %t) : (tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>
  %y = "relax.call"(%0, %x) {callee = @inner} : (tuple<tensor<2xf32>, tuple<tensor<2xf32>, tensor<3xf32>>>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
