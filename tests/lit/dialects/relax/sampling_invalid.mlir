// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @multinomial_from_uniform(%x0: tensor<2x5xf32>, %x1: tensor<3x2xf32>, %x2: tensor<3x2xi64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs one column}}
  %gv = "relax.multinomial_from_uniform"(%x0, %x1, %x2) : (tensor<2x5xf32>, tensor<3x2xf32>, tensor<3x2xi64>) -> !relax.object
  return %gv : !relax.object
}
