// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @image_affine_grid(%x0: tensor<2x3x3xf32>, %x1: !relax.shape<[4, 5], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs 2 by 3 matrices}}
  %gv = "relax.image_affine_grid"(%x0, %x1) : (tensor<2x3x3xf32>, !relax.shape<[4, 5], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @image_grid_sample(%x0: tensor<1x3x4x5xf32>, %x1: tensor<2x2x6x7xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{must have the data's batch}}
  %gv = "relax.image_grid_sample"(%x0, %x1) : (tensor<1x3x4x5xf32>, tensor<2x2x6x7xf32>) -> !relax.object
  return %gv : !relax.object
}
