// RUN: relax-opt %s --relax-expand-matmul-of-sum | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<6x8xf32> {relax.name = "w"}, %d: tensor<6x8xf32> {relax.name = "d"}) -> tensor<2x6xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.permute_dims"(%w) : (tensor<6x8xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %1 = "relax.permute_dims"(%d) : (tensor<6x8xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %2 = "relax.matmul"(%x, %0) : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %3 = "relax.matmul"(%x, %1) : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: %z = "relax.add"(%2, %3) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: return %z : tensor<2x6xf32>
func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<6x8xf32> {relax.name = "w"}, %d: tensor<6x8xf32> {relax.name = "d"}) -> tensor<2x6xf32> attributes {relax.attrs = {}} {
  %s = "relax.add"(%w, %d) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %t = "relax.permute_dims"(%s) : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %z = "relax.matmul"(%x, %t) : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  return %z : tensor<2x6xf32>
}
