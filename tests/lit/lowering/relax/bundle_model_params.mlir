// RUN: relax-opt %s --relax-bundle-model-params | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %model_params: tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>> {relax.name = "model_params"}) -> tensor<2x16xf32> attributes {relax.attrs = {num_input = 1 : i64}} {
// CHECK-NEXT: %w1 = "relax.tuple_get_item"(%model_params) {index = 0 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16x8xf32>
// CHECK-NEXT: %w2 = "relax.tuple_get_item"(%model_params) {index = 1 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16x16xf32>
// CHECK-NEXT: %w3 = "relax.tuple_get_item"(%model_params) {index = 2 : i64} : (tuple<tensor<16x8xf32>, tensor<16x16xf32>, tensor<16xf32>>) -> tensor<16xf32>
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %t1 = "relax.permute_dims"(%w1) : (tensor<16x8xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %t2 = "relax.multiply"(%w2, %w2) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
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
