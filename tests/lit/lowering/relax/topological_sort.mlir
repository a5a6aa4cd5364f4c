// RUN: relax-opt %s --relax-topological-sort | FileCheck %s

// Each chain to its end.
// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<2xf32> {relax.name = "y"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %a = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %c = "relax.log"(%a) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %b = "relax.sin"(%y) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %d = "relax.cos"(%b) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %e = "relax.add"(%c, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%e) : (tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2xf32>
// CHECK-NEXT: return %0 : tensor<2xf32>
func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<2xf32> {relax.name = "y"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %b = "relax.sin"(%y) : (tensor<2xf32>) -> tensor<2xf32>
    %c = "relax.log"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %d = "relax.cos"(%b) : (tensor<2xf32>) -> tensor<2xf32>
    %e = "relax.add"(%c, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%e) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
