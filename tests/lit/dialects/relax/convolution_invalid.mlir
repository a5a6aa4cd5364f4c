// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nn_conv2d(%x0: tensor<1x3x8x8xf32>, %x1: tensor<4x2x3x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{3 channels do not fit a kernel for 2}}
  %gv = "relax.nn_conv2d"(%x0, %x1) : (tensor<1x3x8x8xf32>, tensor<4x2x3x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_conv2d(%x0: tensor<1x2x2x8xf32>, %x1: tensor<4x2x3x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{larger than the padded data}}
  %gv = "relax.nn_conv2d"(%x0, %x1) : (tensor<1x2x2x8xf32>, tensor<4x2x3x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_conv2d(%x0: tensor<1x2x8xf32>, %x1: tensor<4x2x3x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{data must have the layout NCHW}}
  %gv = "relax.nn_conv2d"(%x0, %x1) : (tensor<1x2x8xf32>, tensor<4x2x3x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @nn_conv2d(%x0: tensor<1x2x8x8xf32>, %x1: tensor<4x2x3x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{data_layout must be an arrangement of NCHW, got 'NCW'}}
  %gv = "relax.nn_conv2d"(%x0, %x1) {data_layout = "NCW"} : (tensor<1x2x8x8xf32>, tensor<4x2x3x3xf32>) -> !relax.object
  return %gv : !relax.object
}
