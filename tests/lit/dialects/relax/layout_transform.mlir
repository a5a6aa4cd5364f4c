// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-DAG: #[[MAP:.*]] = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>

// CHECK-LABEL: func.func @layout_transform(
// CHECK: "relax.layout_transform"(%x) {index_map = #[[MAP]]} : (tensor<16xf32>) -> tensor<4x4xf32>
func.func @layout_transform(%x: tensor<16xf32> {relax.name = "x"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.layout_transform"(%x) {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (tensor<16xf32>) -> tensor<4x4xf32>
  return %gv : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @padded(
// CHECK: "relax.layout_transform"(%x) {index_map = {{.*}}, pad_value = 2 : i64} : (tensor<10x21xf32>) -> tensor<21x3x4xf32>
func.func @padded(%x: tensor<10x21xf32> {relax.name = "x"}) -> tensor<21x3x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.layout_transform"(%x) {index_map = affine_map<(d0, d1) -> (d1, d0 floordiv 4, d0 mod 4)>, pad_value = 2 : i64} : (tensor<10x21xf32>) -> tensor<21x3x4xf32>
  return %gv : tensor<21x3x4xf32>
}
