// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nn_attention(%x0: tensor<1x4x2x8xf32>, %x1: tensor<1x4x3x8xf32>, %x2: tensor<1x4x3x8xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{dimension 2 of query and key differs}}
  %gv = "relax.nn_attention"(%x0, %x1, %x2) : (tensor<1x4x2x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> !relax.object
  return %gv : !relax.object
}
