// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @add(%x0: tensor<4xf32>, %x1: tensor<4xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{dtypes differ: R.Tensor((4,), "float32") and R.Tensor((4,), "int32")}}
  %gv = "relax.add"(%x0, %x1) : (tensor<4xf32>, tensor<4xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @add(%x0: tensor<2x4xf32>, %x1: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{broadcast: R.Tensor((2, 4), "float32") and R.Tensor((3,), "float32"), dimension -1 is 4}}
  %gv = "relax.add"(%x0, %x1) : (tensor<2x4xf32>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @add(%x0: !relax.shape<[2], 1 : i64>, %x1: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{lhs must be a tensor, got R.Shape([2])}}
  %gv = "relax.add"(%x0, %x1) : (!relax.shape<[2], 1 : i64>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @logical_and(%x0: tensor<2xi32>, %x1: tensor<2xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs bool tensors}}
  %gv = "relax.logical_and"(%x0, %x1) : (tensor<2xi32>, tensor<2xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @bitwise_and(%x0: tensor<2xf32>, %x1: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs integer or bool tensors}}
  %gv = "relax.bitwise_and"(%x0, %x1) : (tensor<2xf32>, tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}
