// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @sum(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{axis 2 is out of range for a tensor of rank 2}}
  %gv = "relax.sum"(%x) {axis = array<i64: 2>} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @sum(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{names a dimension twice}}
  %gv = "relax.sum"(%x) {axis = array<i64: 1, -1>} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}
