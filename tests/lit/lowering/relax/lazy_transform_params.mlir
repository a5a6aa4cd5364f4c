// RUN: relax-opt %s --relax-lift-transform-params --relax-lazy-transform-params | FileCheck %s

// CHECK-LABEL: func.func @main_transform_params() -> tuple<> attributes {relax.attrs = {num_input = 0 : i64}, relax.pure = false} {
// CHECK-NEXT: %0 = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK-NEXT: %1 = "relax.prim_value"() : () -> !relax.prim<i64, "2">
// CHECK-NEXT: %2 = "relax.call_packed"(%1) {callee = "get_item"} : (!relax.prim<i64, "2">) -> !relax.object
// CHECK-NEXT: %w3 = "relax.match_cast"(%2) : (!relax.object) -> tensor<16xf32>
// CHECK-NEXT: %3 = "relax.call_packed"(%0, %w3) {callee = "set_item"} : (!relax.prim<i64, "0">, tensor<16xf32>) -> !relax.object
// CHECK-NEXT: %4 = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK-NEXT: %5 = "relax.call_packed"(%4) {callee = "get_item"} : (!relax.prim<i64, "0">) -> !relax.object
// CHECK-NEXT: %w1 = "relax.match_cast"(%5) : (!relax.object) -> tensor<16x8xf32>
// CHECK-NEXT: %t1 = "relax.permute_dims"(%w1) : (tensor<16x8xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %6 = "relax.prim_value"() : () -> !relax.prim<i64, "1">
// CHECK-NEXT: %7 = "relax.call_packed"(%6, %t1) {callee = "set_item"} : (!relax.prim<i64, "1">, tensor<8x16xf32>) -> !relax.object
// CHECK-NEXT: %8 = "relax.prim_value"() : () -> !relax.prim<i64, "1">
// CHECK-NEXT: %9 = "relax.call_packed"(%8) {callee = "get_item"} : (!relax.prim<i64, "1">) -> !relax.object
// CHECK-NEXT: %w2 = "relax.match_cast"(%9) : (!relax.object) -> tensor<16x16xf32>
// CHECK-NEXT: %t2 = "relax.multiply"(%w2, %w2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %10 = "relax.prim_value"() : () -> !relax.prim<i64, "2">
// CHECK-NEXT: %11 = "relax.call_packed"(%10, %t2) {callee = "set_item"} : (!relax.prim<i64, "2">, tensor<16x16xf32>) -> !relax.object
// CHECK-NEXT: %12 = "relax.tuple"() : () -> tuple<>
// CHECK-NEXT: return %12 : tuple<>
// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w3: tensor<16xf32> {relax.name = "w3"}, %t1: tensor<8x16xf32> {relax.name = "t1"}, %t2: tensor<16x16xf32> {relax.name = "t2"}) -> tensor<2x16xf32> attributes {relax.attrs = {num_input = 1 : i64}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %a = "relax.matmul"(%x, %t1) : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: %b = "relax.matmul"(%a, %t2) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: %c = "relax.add"(%b, %w3) : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: "relax.output"(%c) : (tensor<2x16xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2x16xf32>
// CHECK-NEXT: return %0 : tensor<2x16xf32>
func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w1: tensor<16x8xf32> {relax.name = "w1"}, %w2: tensor<16x16xf32> {relax.name = "w2"}, %w3: tensor<16xf32> {relax.name = "w3"}) -> tensor<2x16xf32> attributes {relax.attrs = {num_input = 1 : i64}} {
  %0 = "relax.dataflow"() ({
    %t1 = "relax.permute_dims"(%w1) : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %t2 = "relax.multiply"(%w2, %w2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %a = "relax.matmul"(%x, %t1) : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %b = "relax.matmul"(%a, %t2) : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
    %c = "relax.add"(%b, %w3) : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
    "relax.output"(%c) : (tensor<2x16xf32>) -> ()
  }) : () -> tensor<2x16xf32>
  return %0 : tensor<2x16xf32>
}
