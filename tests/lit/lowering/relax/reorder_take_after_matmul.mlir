// RUN: relax-opt %s --relax-reorder-take-after-matmul | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<8x100xf32> {relax.name = "w"}, %i: tensor<5xi64> {relax.name = "i"}) -> tensor<2x5xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x100xf32>) -> tensor<2x100xf32>
// CHECK-NEXT: %z = "relax.take"(%0, %i) {axis = 1 : i64} : (tensor<2x100xf32>, tensor<5xi64>) -> tensor<2x5xf32>
// CHECK-NEXT: return %z : tensor<2x5xf32>
func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<8x100xf32> {relax.name = "w"}, %i: tensor<5xi64> {relax.name = "i"}) -> tensor<2x5xf32> attributes {relax.attrs = {}} {
  %t = "relax.take"(%w, %i) {axis = 1 : i64} : (tensor<8x100xf32>, tensor<5xi64>) -> tensor<8x5xf32>
  %z = "relax.matmul"(%x, %t) : (tensor<2x8xf32>, tensor<8x5xf32>) -> tensor<2x5xf32>
  return %z : tensor<2x5xf32>
}
