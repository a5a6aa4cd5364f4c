// RUN: relax-opt %s --relax-convert-to-dataflow | FileCheck %s
// RUN: relax-opt %s --relax-convert-to-dataflow=min-size=3 | FileCheck %s --check-prefix=THREE

// A call with effects ends the run; one binding alone is no block.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[BLOCK:.*]] = "relax.dataflow"() ({
// CHECK-NEXT: %a = "relax.exp"(%x)
// CHECK-NEXT: %[[B:.*]] = "relax.sin"(%a)
// CHECK-NEXT: "relax.output"(%[[B]])
// CHECK-NEXT: })
// CHECK-NEXT: "relax.call_packed"(%[[BLOCK]])
// CHECK-NEXT: %c = "relax.cos"(%[[BLOCK]])
// CHECK-NEXT: return %c

// THREE-NOT: relax.dataflow
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.sin"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %p = "relax.call_packed"(%b) {callee = "f"} : (tensor<4xf32>) -> !relax.object
  %c = "relax.cos"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
