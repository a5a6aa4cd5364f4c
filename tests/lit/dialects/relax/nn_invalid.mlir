// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nn_softmax(%x: tensor<4xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs a floating-point tensor}}
  %gv = "relax.nn_softmax"(%x) : (tensor<4xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_softmax(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{axis 1 is out of range for a tensor of rank 1}}
  %gv = "relax.nn_softmax"(%x) {axis = 1 : i64} : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_layer_norm(%x0: tensor<2x4xf32>, %x1: tensor<3xf32>, %x2: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes differ}}
  %gv = "relax.nn_layer_norm"(%x0, %x1, %x2) {axes = array<i64: -1>} : (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_layer_norm(%x0: tensor<2x4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf16>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{dtypes differ}}
  %gv = "relax.nn_layer_norm"(%x0, %x1, %x2) {axes = array<i64: -1>} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf16>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @no_groups(%x: tensor<1x4x2xf32>, %g: tensor<4xf32>) {
  // expected-error@below {{needs at least one group, got 0}}
  %0 = "relax.nn_group_norm"(%x, %g, %g) {num_groups = 0 : i64, channel_axis = 1 : i64, axes = array<i64: 2>} : (tensor<1x4x2xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x2xf32>
  return
}
