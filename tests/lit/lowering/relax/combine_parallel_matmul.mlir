// RUN: relax-opt %s --relax-combine-parallel-matmul | FileCheck %s

// Biases and the activation are combined too; the transposition moves up.
// CHECK-LABEL: func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"}, %q: tensor<8x16xf32> {relax.name = "q"}, %k: tensor<4x8xf32> {relax.name = "k"}, %b1: tensor<16xf32> {relax.name = "b1"}, %b2: tensor<4xf32> {relax.name = "b2"}) -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %kt = "relax.permute_dims"(%k) : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: %1 = "relax.concat"(%q, %kt) {axis = 1 : i64} : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<8x20xf32>
// CHECK-NEXT: %2 = "relax.matmul"(%x, %1) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x20xf32>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
// CHECK-NEXT: %3 = "relax.concat"(%b1, %b2) : (tensor<16xf32>, tensor<4xf32>) -> tensor<20xf32>
// CHECK-NEXT: %4 = "relax.add"(%2, %3) : (tensor<?x20xf32, #relax.dims<["n", 20]>>, tensor<20xf32>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
// CHECK-NEXT: %5 = "relax.nn_relu"(%4) : (tensor<?x20xf32, #relax.dims<["n", 20]>>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
// CHECK-NEXT: %6 = "relax.split"(%5) {axis = 1 : i64, indices_or_sections = array<i64: 16>} : (tensor<?x20xf32, #relax.dims<["n", 20]>>) -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
// CHECK-NEXT: %a1 = "relax.tuple_get_item"(%6) {index = 0 : i64} : (tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>) -> tensor<?x16xf32, #relax.dims<["n", 16]>>
// CHECK-NEXT: %7 = "relax.tuple_get_item"(%6) {index = 1 : i64} : (tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
// CHECK-NEXT: %gv = "relax.tuple"(%a1, %7) : (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
// CHECK-NEXT: "relax.output"(%gv) : (tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>) -> ()
// CHECK-NEXT: }) : () -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
// CHECK-NEXT: return %0 : tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
func.func @main(%x: tensor<?x8xf32, #relax.dims<["n", 8]>> {relax.name = "x"}, %q: tensor<8x16xf32> {relax.name = "q"}, %k: tensor<4x8xf32> {relax.name = "k"}, %b1: tensor<16xf32> {relax.name = "b1"}, %b2: tensor<4xf32> {relax.name = "b2"}) -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %q) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #relax.dims<["n", 16]>>
    %lv = "relax.add"(%a, %b1) : (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<16xf32>) -> tensor<?x16xf32, #relax.dims<["n", 16]>>
    %a1 = "relax.nn_relu"(%lv) : (tensor<?x16xf32, #relax.dims<["n", 16]>>) -> tensor<?x16xf32, #relax.dims<["n", 16]>>
    %kt = "relax.permute_dims"(%k) : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %c = "relax.matmul"(%x, %kt) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %lv1 = "relax.add"(%c, %b2) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %c1 = "relax.nn_relu"(%lv1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %gv = "relax.tuple"(%a1, %c1) : (tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
    "relax.output"(%gv) : (tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>) -> ()
  }) : () -> tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
  return %0 : tuple<tensor<?x16xf32, #relax.dims<["n", 16]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
}

// The second needs the first.
// CHECK-LABEL: func.func @chained(%x: tensor<8x8xf32> {relax.name = "x"}, %q: tensor<8x8xf32> {relax.name = "q"}) -> tensor<8x8xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %a = "relax.matmul"(%x, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %b = "relax.matmul"(%x, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: "relax.output"(%b) : (tensor<8x8xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<8x8xf32>
// CHECK-NEXT: return %0 : tensor<8x8xf32>
func.func @chained(%x: tensor<8x8xf32> {relax.name = "x"}, %q: tensor<8x8xf32> {relax.name = "q"}) -> tensor<8x8xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %q) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "relax.matmul"(%x, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    "relax.output"(%b) : (tensor<8x8xf32>) -> ()
  }) : () -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
