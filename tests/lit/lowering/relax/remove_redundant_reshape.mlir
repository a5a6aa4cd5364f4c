// RUN: relax-opt %s --relax-remove-redundant-reshape --relax-dead-code-elimination | FileCheck %s

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %s2 = "relax.shape_expr"
// CHECK-NEXT: %c = "relax.reshape"(%x, %s2) : (tensor<2x6xf32>, {{.*}}) -> tensor<3x4xf32>
// CHECK-NEXT: return %c
func.func @chain(%x: tensor<2x6xf32> {relax.name = "x"}) -> tensor<3x4xf32> attributes {relax.attrs = {}} {
  %s1 = "relax.shape_expr"() : () -> !relax.shape<[12], 1>
  %a = "relax.reshape"(%x, %s1) : (tensor<2x6xf32>, !relax.shape<[12], 1>) -> tensor<12xf32>
  %b = "relax.bind"(%a) : (tensor<12xf32>) -> tensor<12xf32>
  %s2 = "relax.shape_expr"() : () -> !relax.shape<[3, 4], 2>
  %c = "relax.reshape"(%b, %s2) : (tensor<12xf32>, !relax.shape<[3, 4], 2>) -> tensor<3x4xf32>
  return %c : tensor<3x4xf32>
}

// There and back again, with a symbolic size.
// CHECK-LABEL: func.func @back(
// CHECK-NEXT: %r = "relax.exp"(%x)
func.func @back(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %s1 = "relax.shape_expr"() : () -> !relax.shape<["n * 4"], 1>
  %a = "relax.reshape"(%x, %s1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<["n * 4"], 1>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
  %s2 = "relax.shape_expr"() : () -> !relax.shape<["n", 4], 2>
  %b = "relax.reshape"(%a, %s2) : (tensor<?xf32, #relax.dims<["n * 4"]>>, !relax.shape<["n", 4], 2>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %r = "relax.exp"(%b) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %r : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
