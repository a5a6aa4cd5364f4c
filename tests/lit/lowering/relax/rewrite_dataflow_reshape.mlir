// RUN: relax-opt %s --relax-legalize-ops --relax-rewrite-dataflow-reshape | FileCheck %s

// CHECK-NOT: func.func private @reshape
// CHECK-LABEL: func.func @main(
// CHECK: "relax.reshape"(%a, %{{.*}}) : (tensor<2x3xf32>, !relax.shape<[3, 2], 2 : i64>) -> tensor<3x2xf32>
func.func @main(%x: tensor<2x3xf32> {relax.name = "x"}) -> tensor<3x2xf32> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<[3, 2], 2 : i64>
  %a = "relax.exp"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = "relax.reshape"(%a, %s) : (tensor<2x3xf32>, !relax.shape<[3, 2], 2 : i64>) -> tensor<3x2xf32>
  %c = "relax.exp"(%b) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %c : tensor<3x2xf32>
}
