// RUN: relax-opt %s --relax-optimize-layout-transform | FileCheck %s

// CHECK: #[[MAP:.*]] = affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>

// There and back.
// CHECK-LABEL: func.func @undone(
// CHECK-NEXT: return %x
func.func @undone(%x: tensor<6x8xf32> {relax.name = "x"}) -> tensor<6x8xf32> attributes {relax.attrs = {}} {
  %a = "relax.layout_transform"(%x) {index_map = affine_map<(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)>} : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
  %b = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1, d2) -> (d0, d1 * 4 + d2)>} : (tensor<6x2x4xf32>) -> tensor<6x8xf32>
  return %b : tensor<6x8xf32>
}

// Two become one.
// CHECK-LABEL: func.func @joined(
// CHECK-NEXT: %b = "relax.layout_transform"(%x) {index_map = #[[MAP]]}
// CHECK-NEXT: return %b
func.func @joined(%x: tensor<6x8xf32> {relax.name = "x"}) -> tensor<2x6x4xf32> attributes {relax.attrs = {}} {
  %a = "relax.layout_transform"(%x) {index_map = affine_map<(d0, d1) -> (d0, d1 floordiv 4, d1 mod 4)>} : (tensor<6x8xf32>) -> tensor<6x2x4xf32>
  %b = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1, d2) -> (d1, d0, d2)>} : (tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
  return %b : tensor<2x6x4xf32>
}

// What was added between stays.
// CHECK-LABEL: func.func @padded(
// CHECK-COUNT-2: "relax.layout_transform"
func.func @padded(%x: tensor<7xf32> {relax.name = "x"}) -> tensor<8xf32> attributes {relax.attrs = {}} {
  %a = "relax.layout_transform"(%x) {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>, pad_value = 1.0 : f64} : (tensor<7xf32>) -> tensor<2x4xf32>
  %b = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d0 * 4 + d1)>} : (tensor<2x4xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}
