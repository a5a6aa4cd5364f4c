// RUN: relax-opt %s --relax-reorder-permute-dims-after-concat | FileCheck %s

// CHECK-LABEL: func.func @main(%a: tensor<4x3xf32> {relax.name = "a"}, %b: tensor<4x5xf32> {relax.name = "b"}) -> tensor<8x4xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.concat"(%a, %b) {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %c = "relax.permute_dims"(%0) {axes = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: return %c : tensor<8x4xf32>
func.func @main(%a: tensor<4x3xf32> {relax.name = "a"}, %b: tensor<4x5xf32> {relax.name = "b"}) -> tensor<8x4xf32> attributes {relax.attrs = {}} {
  %p = "relax.permute_dims"(%a) : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %q = "relax.permute_dims"(%b) {axes = array<i64: 1, 0>} : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %c = "relax.concat"(%p, %q) : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  return %c : tensor<8x4xf32>
}
