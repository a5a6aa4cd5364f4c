// RUN: relax-opt %s --relax-lazy-get-input | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %fget_param: (!relax.prim<i64, "">, !relax.object) -> !relax.object {relax.name = "fget_param"}) -> tensor<4xf32>
// CHECK: %a = "relax.exp"(%x)
// CHECK: %[[INDEX:.*]] = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK: %[[NAME:.*]] = "relax.string"() {value = "w"}
// CHECK: %[[GOT:.*]] = "relax.call_value"(%fget_param, %[[INDEX]], %[[NAME]])
// CHECK: %w = "relax.match_cast"(%[[GOT]]) : (!relax.object) -> tensor<4xf32>
// CHECK: %b = "relax.add"(%a, %w)
func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %w: tensor<4xf32> {relax.name = "w"}, %unused: tensor<9xf32> {relax.name = "unused"}) -> tensor<4xf32>
    attributes {relax.attrs = {num_input = 1 : i64}} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.add"(%a, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
