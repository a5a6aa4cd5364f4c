// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @argmax(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{axis must be one integer or None}}
  %gv = "relax.argmax"(%x) {axis = array<i64: 0, 1>} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @where(%x0: tensor<2xf32>, %x1: tensor<2xf32>, %x2: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{condition must be bool}}
  %gv = "relax.where"(%x0, %x1, %x2) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}
