// RUN: relax-opt %s --relax-lazy-set-output | FileCheck %s

// CHECK-LABEL: func.func @main(%fset_output: (!relax.prim<i64, "">, !relax.object) -> tuple<> {relax.name = "fset_output"}, %x: tensor<4xf32> {relax.name = "x"}) -> tuple<>
// CHECK: %a = "relax.exp"(%x)
// CHECK: "relax.call_value"(%fset_output, %{{.*}}, %a) : ({{.*}}) -> tuple<>
// CHECK: %b = "relax.log"(%a)
// CHECK: "relax.call_value"(%fset_output, %{{.*}}, %b) : ({{.*}}) -> tuple<>
// CHECK: return %{{.*}} : tuple<>
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tuple<tensor<4xf32>, tensor<4xf32>> attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.log"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %t = "relax.tuple"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  return %t : tuple<tensor<4xf32>, tensor<4xf32>>
}
