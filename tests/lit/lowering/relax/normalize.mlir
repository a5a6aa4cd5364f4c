// RUN: relax-opt %s --relax-normalize | FileCheck %s

// Types that were less precise than what their operands tell.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %lv = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %lv1 = "relax.bind"(%lv) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: "relax.output"(%lv1) : (tensor<4x8xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<4x8xf32>
// CHECK-NEXT: %t = "relax.tuple"(%gv, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}) -> tuple<tensor<?x?xf32>, tensor<4x8xf32>> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<*xf32>
    %lv1 = "relax.bind"(%lv) : (tensor<*xf32>) -> tensor<?x?xf32>
    "relax.output"(%lv1) : (tensor<?x?xf32>) -> ()
  }) : () -> tensor<?x?xf32>
  %t = "relax.tuple"(%gv, %x) : (tensor<?x?xf32>, tensor<4x8xf32>) -> tuple<tensor<?x?xf32>, tensor<4x8xf32>>
  return %t : tuple<tensor<?x?xf32>, tensor<4x8xf32>>
}
