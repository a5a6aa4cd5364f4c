// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @astype(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{unknown dtype 'complex64'}}
  %gv = "relax.astype"(%x) {dtype = "complex64"} : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @astype(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{attribute 'dtype' is missing}}
  %gv = "relax.astype"(%x) : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}
