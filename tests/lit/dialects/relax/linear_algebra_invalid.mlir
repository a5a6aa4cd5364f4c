// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @matmul(%x0: tensor<2x3xf32>, %x1: tensor<4x5xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{differ: R.Tensor((2, 3), "float32") and R.Tensor((4, 5), "float32"), 3 and 4}}
  %gv = "relax.matmul"(%x0, %x1) : (tensor<2x3xf32>, tensor<4x5xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @matmul(%x0: tensor<2x?xf32, #relax.dims<[2, "n"]>>, %x1: tensor<?x5xf32, #relax.dims<["n + 1", 5]>>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{reduction dimensions differ}}
  %gv = "relax.matmul"(%x0, %x1) : (tensor<2x?xf32, #relax.dims<[2, "n"]>>, tensor<?x5xf32, #relax.dims<["n + 1", 5]>>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @matmul(%x0: tensor<f32>, %x1: tensor<4x5xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs tensors of rank one or more}}
  %gv = "relax.matmul"(%x0, %x1) : (tensor<f32>, tensor<4x5xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @matmul(%x0: tensor<3x2x4xf32>, %x1: tensor<2x4x5xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes do not broadcast}}
  %gv = "relax.matmul"(%x0, %x1) : (tensor<3x2x4xf32>, tensor<2x4x5xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @matmul(%x0: tensor<2x4xf32>, %x1: tensor<4x5xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{unknown dtype 'float33'}}
  %gv = "relax.matmul"(%x0, %x1) {out_dtype = "float33"} : (tensor<2x4xf32>, tensor<4x5xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @outer(%x0: tensor<2x2xf32>, %x1: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{x1 must have rank 1}}
  %gv = "relax.outer"(%x0, %x1) : (tensor<2x2xf32>, tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @einsum(%x: tensor<2x3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{is for 2 tensors, got 1}}
  %gv = "relax.einsum"(%x) {subscripts = "ij,jk->ik"} : (tensor<2x3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @einsum(%x0: tensor<2x3xf32>, %x1: tensor<4x5xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{'j' is 3 and 4}}
  %gv = "relax.einsum"(%x0, %x1) {subscripts = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> !relax.object
  return %gv : !relax.object
}
