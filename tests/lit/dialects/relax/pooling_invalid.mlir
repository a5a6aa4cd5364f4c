// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nn_max_pool2d(%x: tensor<1x2x8x8xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{pool_size has 3 entries}}
  %gv = "relax.nn_max_pool2d"(%x) {pool_size = array<i64: 1, 2, 3>} : (tensor<1x2x8x8xf32>) -> !relax.object
  return %gv : !relax.object
}
