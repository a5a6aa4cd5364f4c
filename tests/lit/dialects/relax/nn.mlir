// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @nn_relu(
// CHECK: "relax.nn_relu"(%x) : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @nn_relu(%x: tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_relu"(%x) : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_relu6(
// CHECK: "relax.nn_relu6"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_relu6(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_relu6"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_leakyrelu(
// CHECK: "relax.nn_leakyrelu"(%x) {alpha = 2.000000e-01 : f64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_leakyrelu(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_leakyrelu"(%x) {alpha = 2.000000e-01 : f64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_gelu(
// CHECK: "relax.nn_gelu"(%x) : (tensor<?x4xf16, #relax.dims<["n", 4]>>) -> tensor<?x4xf16, #relax.dims<["n", 4]>>
func.func @nn_gelu(%x: tensor<?x4xf16, #relax.dims<["n", 4]>>) -> tensor<?x4xf16, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_gelu"(%x) : (tensor<?x4xf16, #relax.dims<["n", 4]>>) -> tensor<?x4xf16, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf16, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_gelu_tanh(
// CHECK: "relax.nn_gelu_tanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_gelu_tanh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_gelu_tanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_selu(
// CHECK: "relax.nn_selu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_selu(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_selu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_silu(
// CHECK: "relax.nn_silu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_silu(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_silu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_softplus(
// CHECK: "relax.nn_softplus"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_softplus(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_softplus"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_prelu(
// CHECK: "relax.nn_prelu"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_prelu(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_prelu"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_softmax(
// CHECK: "relax.nn_softmax"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_softmax(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_softmax"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_log_softmax(
// CHECK: "relax.nn_log_softmax"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @nn_log_softmax(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_log_softmax"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @nn_layer_norm(
// CHECK: "relax.nn_layer_norm"(%x0, %x1, %x2) {axes = array<i64: -1>} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
func.func @nn_layer_norm(%x0: tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, %x1: tensor<3xf32>, %x2: tensor<3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_layer_norm"(%x0, %x1, %x2) {axes = array<i64: -1>} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
  return %gv : tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
}

// CHECK-LABEL: func.func @nn_rms_norm(
// CHECK: "relax.nn_rms_norm"(%x0, %x1) {axes = array<i64: 1, 2>} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4x3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
func.func @nn_rms_norm(%x0: tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, %x1: tensor<4x3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_rms_norm"(%x0, %x1) {axes = array<i64: 1, 2>} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4x3xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
  return %gv : tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
}

// CHECK-LABEL: func.func @nn_instance_norm(
// CHECK: "relax.nn_instance_norm"(%x0, %x1, %x2) {axes = array<i64: 2>, channel_axis = 1 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
func.func @nn_instance_norm(%x0: tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, %x1: tensor<4xf32>, %x2: tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_instance_norm"(%x0, %x1, %x2) {axes = array<i64: 2>, channel_axis = 1 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
  return %gv : tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
}

// CHECK-LABEL: func.func @nn_group_norm(
// CHECK: "relax.nn_group_norm"(%x0, %x1, %x2) {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 2 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
func.func @nn_group_norm(%x0: tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, %x1: tensor<4xf32>, %x2: tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_group_norm"(%x0, %x1, %x2) {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 2 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
  return %gv : tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
}

// CHECK-LABEL: func.func @nn_batch_norm(
// CHECK: "relax.nn_batch_norm"(%x0, %x1, %x2, %x3, %x4) {axis = 1 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>>
func.func @nn_batch_norm(%x0: tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>) -> tuple<tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_batch_norm"(%x0, %x1, %x2, %x3, %x4) {axis = 1 : i64} : (tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>>
  return %gv : tuple<tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>, tensor<4xf32>, tensor<4xf32>>
}

// CHECK-LABEL: func.func @nn_dropout(
// CHECK: "relax.nn_dropout"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
func.func @nn_dropout(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_dropout"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
  return %gv : tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
}

// CHECK-LABEL: func.func @nn_cross_entropy_with_logits(
// CHECK: "relax.nn_cross_entropy_with_logits"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32>
func.func @nn_cross_entropy_with_logits(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32> attributes {relax.attrs = {}} {
  %gv = "relax.nn_cross_entropy_with_logits"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32>
  return %gv : tensor<f32>
}

// CHECK-LABEL: func.func @nn_nll_loss(
// CHECK: "relax.nn_nll_loss"(%x0, %x1, %x2) {reduction = "none"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?xi64, #relax.dims<["n"]>>, tensor<4xf32>) -> tensor<?xf32, #relax.dims<["n"]>>
func.func @nn_nll_loss(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<?xi64, #relax.dims<["n"]>>, %x2: tensor<4xf32>) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_nll_loss"(%x0, %x1, %x2) {reduction = "none"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?xi64, #relax.dims<["n"]>>, tensor<4xf32>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %gv : tensor<?xf32, #relax.dims<["n"]>>
}
