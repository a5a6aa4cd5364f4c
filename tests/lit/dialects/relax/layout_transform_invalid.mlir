// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @rank(%x: tensor<4x6xf32>) -> tensor<24xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{operand must have rank 1, got R.Tensor((4, 6), "float32")}}
  %gv = "relax.layout_transform"(%x) {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (tensor<4x6xf32>) -> tensor<24xf32>
  return %gv : tensor<24xf32>
}

// -----

func.func @shape(%x: tensor<16xf32>) -> tensor<4x5xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{does not fit the inferred}}
  %gv = "relax.layout_transform"(%x) {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (tensor<16xf32>) -> tensor<4x5xf32>
  return %gv : tensor<4x5xf32>
}

// -----

func.func @no_map(%x: tensor<16xf32>) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{index_map is a map such as lambda i: (i // 4, i % 4), not 3}}
  %gv = "relax.layout_transform"(%x) {index_map = 3 : i64} : (tensor<16xf32>) -> tensor<4x4xf32>
  return %gv : tensor<4x4xf32>
}
