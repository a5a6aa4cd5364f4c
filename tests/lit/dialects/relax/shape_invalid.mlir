// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @tensor_to_shape(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs an int64 vector}}
  %gv = "relax.tensor_to_shape"(%x) : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}
