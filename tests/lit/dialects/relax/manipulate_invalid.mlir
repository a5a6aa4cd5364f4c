// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @permute_dims(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{name 1 dimensions}}
  %gv = "relax.permute_dims"(%x) {axes = array<i64: 0>} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @permute_dims(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{names a dimension twice}}
  %gv = "relax.permute_dims"(%x) {axes = array<i64: 0, 0>} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @reshape(%x0: tensor<2x3xf32>, %x1: !relax.shape<[4, 2], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{6 elements cannot be reshaped to (4, 2) of 8}}
  %gv = "relax.reshape"(%x0, %x1) : (tensor<2x3xf32>, !relax.shape<[4, 2], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @reshape(%x0: tensor<2x3xf32>, %x1: !relax.shape<[-1, 4], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{6 elements cannot be reshaped to (-1, 4)}}
  %gv = "relax.reshape"(%x0, %x1) : (tensor<2x3xf32>, !relax.shape<[-1, 4], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @reshape(%x0: tensor<2x3xf32>, %x1: !relax.shape<[-1, -1], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{leaves more than one dimension open}}
  %gv = "relax.reshape"(%x0, %x1) : (tensor<2x3xf32>, !relax.shape<[-1, -1], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @reshape(%x0: tensor<2x3xf32>, %x1: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shape must be a shape}}
  %gv = "relax.reshape"(%x0, %x1) : (tensor<2x3xf32>, tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @broadcast_to(%x0: tensor<2x3xf32>, %x1: !relax.shape<[2, 4], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{does not broadcast to R.Shape([2, 4])}}
  %gv = "relax.broadcast_to"(%x0, %x1) : (tensor<2x3xf32>, !relax.shape<[2, 4], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @expand_dims(%x: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{axis 3 is out of range for a tensor of rank 2}}
  %gv = "relax.expand_dims"(%x) {axis = array<i64: 3>} : (tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @concat(%x0: tensor<?x2xf32, #relax.dims<["n", 2]>>, %x1: tensor<?x3xf32, #relax.dims<["m", 3]>>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes differ}}
  %gv = "relax.concat"(%x0, %x1) : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x3xf32, #relax.dims<["m", 3]>>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @concat(%x0: tensor<2xf32>, %x1: tensor<2x2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{ranks differ}}
  %gv = "relax.concat"(%x0, %x1) : (tensor<2xf32>, tensor<2x2xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @stack(%x0: tensor<2xf32>, %x1: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes differ}}
  %gv = "relax.stack"(%x0, %x1) : (tensor<2xf32>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @split(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs at least one section, got 0}}
  %gv = "relax.split"(%x) {indices_or_sections = 0 : i64} : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @split(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{must not decrease}}
  %gv = "relax.split"(%x) {indices_or_sections = array<i64: 3, 1>} : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}
