// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @exp(%x: tensor<4xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs a floating-point tensor, got R.Tensor((4,), "int32")}}
  %gv = "relax.exp"(%x) : (tensor<4xi32>) -> !relax.object
  return %gv : !relax.object
}
