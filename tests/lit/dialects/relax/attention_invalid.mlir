// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nn_attention(%x0: tensor<1x4x2x8xf32>, %x1: tensor<1x4x3x8xf32>, %x2: tensor<1x4x3x8xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{dimension 2 of query and key differs}}
  %gv = "relax.nn_attention"(%x0, %x1, %x2) : (tensor<1x4x2x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @batches(%x: tensor<2x9x2x4xf32>, %s: tensor<3xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{hold sequences one after another: their first size is one}}
  %gv = "relax.nn_attention_var_len"(%x, %x, %x, %s, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>} : (tensor<2x9x2x4xf32>, tensor<2x9x2x4xf32>, tensor<2x9x2x4xf32>, tensor<3xi32>, tensor<3xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @starts(%x: tensor<1x9x2x4xf32>, %s: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{seqstart_q R.Tensor((3,), "float32") must hold integers}}
  %gv = "relax.nn_attention_var_len"(%x, %x, %x, %s, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>} : (tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>, tensor<3xf32>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}
