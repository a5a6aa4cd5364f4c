// RUN: relax-opt %s --relax-remove-unused-outputs | FileCheck %s

// One caller takes field 2, the other fields 0 and 2: field 1 goes.
// CHECK-LABEL: func.func private @three(
// CHECK-SAME: -> tuple<tensor<1xf32>, tensor<3xf32>>
// CHECK: %[[T:.*]] = "relax.tuple"(%a, %c)
// CHECK-NEXT: return %[[T]]
func.func private @three(%a: tensor<1xf32> {relax.name = "a"}, %b: tensor<2xf32> {relax.name = "b"}, %c: tensor<3xf32> {relax.name = "c"}) -> tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>> attributes {relax.attrs = {}} {
  %t = "relax.tuple"(%a, %b, %c) : (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>
  return %t : tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>
}
// A single field is returned without a tuple.
// CHECK-LABEL: func.func private @two(
// CHECK-SAME: -> tensor<2xf32>
// CHECK: return %b
func.func private @two(%a: tensor<1xf32> {relax.name = "a"}, %b: tensor<2xf32> {relax.name = "b"}) -> tuple<tensor<1xf32>, tensor<2xf32>> attributes {relax.attrs = {}} {
  %t = "relax.tuple"(%a, %b) : (tensor<1xf32>, tensor<2xf32>) -> tuple<tensor<1xf32>, tensor<2xf32>>
  return %t : tuple<tensor<1xf32>, tensor<2xf32>>
}
// CHECK-LABEL: func.func @main(
// CHECK: %[[FIRST:.*]] = "relax.call"(%a, %b, %c) {callee = @three}
// CHECK-SAME: -> tuple<tensor<1xf32>, tensor<3xf32>>
// CHECK-NEXT: %x = "relax.tuple_get_item"(%[[FIRST]]) {index = 1 : i64}
// CHECK: "relax.tuple_get_item"({{.*}}) {index = 0 : i64}
// CHECK: %w = "relax.call"(%a, %b) {callee = @two} : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK: "relax.tuple"(%x, %y, %z, %w)
func.func @main(%a: tensor<1xf32> {relax.name = "a"}, %b: tensor<2xf32> {relax.name = "b"}, %c: tensor<3xf32> {relax.name = "c"}) -> tuple<tensor<3xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2xf32>> attributes {relax.attrs = {}} {
  %r = "relax.call"(%a, %b, %c) {callee = @three} : (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>
  %x = "relax.tuple_get_item"(%r) {index = 2} : (tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
  %s = "relax.call"(%a, %b, %c) {callee = @three} : (tensor<1xf32>, tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>
  %y = "relax.tuple_get_item"(%s) {index = 0} : (tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>) -> tensor<1xf32>
  %z = "relax.tuple_get_item"(%s) {index = 2} : (tuple<tensor<1xf32>, tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
  %u = "relax.call"(%a, %b) {callee = @two} : (tensor<1xf32>, tensor<2xf32>) -> tuple<tensor<1xf32>, tensor<2xf32>>
  %w = "relax.tuple_get_item"(%u) {index = 1} : (tuple<tensor<1xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %all = "relax.tuple"(%x, %y, %z, %w) : (tensor<3xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2xf32>) -> tuple<tensor<3xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2xf32>>
  return %all : tuple<tensor<3xf32>, tensor<1xf32>, tensor<3xf32>, tensor<2xf32>>
}
