// RUN: relax-opt %s --relax-lift-transform-params | FileCheck %s

// What depends on the weights only is computed in a function of its own.
// CHECK-LABEL: func.func @main_transform_params(%arg0: tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>> {relax.name = "model_params"}) -> tuple<tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>> attributes {relax.attrs = {num_input = 0 : i64}} {
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %w1 = "relax.tuple_get_item"(%arg0) {index = 0 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16x8xf32>
// CHECK-NEXT: %w2 = "relax.tuple_get_item"(%arg0) {index = 1 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16x16xf32>
// CHECK-NEXT: %w3 = "relax.tuple_get_item"(%arg0) {index = 2 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16xf32>
// CHECK-NEXT: %t1 = "relax.permute_dims"(%w1) : (tensor<16x8xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %t2 = "relax.multiply"(%w2, %w2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %output_tuple = "relax.tuple"(%w3, %t1, %t2) : (tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>) -> tuple<tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>>
// CHECK-NEXT: "relax.output"(%output_tuple) : (tuple<tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>>) -> ()
// CHECK-NEXT: }) : () -> tuple<tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>>
// CHECK-NEXT: return %gv : tuple<tensor<16xf32>, tensor<8x16xf32>, tensor<16x16xf32>>
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
