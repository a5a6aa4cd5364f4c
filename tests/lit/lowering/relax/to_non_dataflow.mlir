// RUN: relax-opt %s --relax-to-non-dataflow | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %lv = "relax.exp"(%x)
// CHECK-NEXT: %lv1 = "relax.sin"(%lv)
// CHECK-NEXT: %r = "relax.add"(%lv, %lv1)
// CHECK-NEXT: return %r
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv:2 = "relax.dataflow"() ({
    %lv = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %lv1 = "relax.sin"(%lv) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%lv, %lv1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : () -> (tensor<4xf32>, tensor<4xf32>)
  %r = "relax.add"(%gv#0, %gv#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
