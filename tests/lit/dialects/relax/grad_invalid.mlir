// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @grad_take_backward(%x0: tensor<3x6xf32>, %x1: tensor<5x6xf32>, %x2: tensor<4xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes differ}}
  %gv = "relax.grad_take_backward"(%x0, %x1, %x2) {axis = 0} : (tensor<3x6xf32>, tensor<5x6xf32>, tensor<4xi32>) -> !relax.object
  return %gv : !relax.object
}
