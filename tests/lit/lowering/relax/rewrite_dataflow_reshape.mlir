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

// CHECK-NOT: func.func private @reshape
// CHECK-LABEL: func.func @symbolic(
// CHECK: "relax.reshape"(%a, %{{.*}}) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, !relax.shape<["m * n"], 1 : i64>) -> tensor<?xf32, #relax.dims<["m * n"]>>
func.func @symbolic(%x: tensor<?x?xf32, #relax.dims<["n", "m"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["m * n"]>> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<["m * n"], 1 : i64>
  %a = "relax.exp"(%x) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  %b = "relax.reshape"(%a, %s) : (tensor<?x?xf32, #relax.dims<["n", "m"]>>, !relax.shape<["m * n"], 1 : i64>) -> tensor<?xf32, #relax.dims<["m * n"]>>
  return %b : tensor<?xf32, #relax.dims<["m * n"]>>
}

// Bytes that mean another number are no view: signed as unsigned stays a call.
// CHECK-LABEL: func.func @unsigned(
// CHECK-NOT: relax.reshape
// CHECK: relax.call_tir
func.func @unsigned(%x: tensor<4xi32> {relax.name = "x"}) -> tensor<4xui32> attributes {relax.attrs = {}} {
  %a = "relax.add"(%x, %x) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %b = "relax.astype"(%a) {dtype = "uint32"} : (tensor<4xi32>) -> tensor<4xui32>
  return %b : tensor<4xui32>
}
