// RUN: relax-opt %s --relax-remove-purity-checking | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {relax.force_pure = true}} {
// CHECK-NEXT: %a = "relax.call_packed"(%x) {callee = "f"} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %b = "relax.add"(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %b : tensor<2xf32>
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.call_pure_packed"(%x) {callee = "f"} : (tensor<2xf32>) -> tensor<2xf32>
    %b = "relax.add"(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%b) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
