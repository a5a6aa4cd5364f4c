// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @nn_attention(
// CHECK: "relax.nn_attention"(%x0, %x1, %x2) : (tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
func.func @nn_attention(%x0: tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, %x1: tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, %x2: tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_attention"(%x0, %x1, %x2) : (tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
  return %gv : tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
}

// CHECK-LABEL: func.func @nn_attention_bias(
// CHECK: "relax.nn_attention_bias"(%x0, %x1, %x2, %x3) {causal_mask = "BottomRight"} : (tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>, tensor<?x2x4x?xf32, #relax.dims<["n", 2, 4, "m"]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
func.func @nn_attention_bias(%x0: tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, %x1: tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, %x2: tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>, %x3: tensor<?x2x4x?xf32, #relax.dims<["n", 2, 4, "m"]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_attention_bias"(%x0, %x1, %x2, %x3) {causal_mask = "BottomRight"} : (tensor<?x4x2x9xf32, #relax.dims<["n", 4, 2, 9]>>, tensor<?x?x2x9xf32, #relax.dims<["n", "m", 2, 9]>>, tensor<?x?x2x7xf32, #relax.dims<["n", "m", 2, 7]>>, tensor<?x2x4x?xf32, #relax.dims<["n", 2, 4, "m"]>>) -> tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
  return %gv : tensor<?x4x2x7xf32, #relax.dims<["n", 4, 2, 7]>>
}

// CHECK-LABEL: func.func @nn_attention_var_len(
// CHECK: "relax.nn_attention_var_len"(%x, %x, %x, %s, %m) {causal_mask = "TopLeft", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}
// CHECK-SAME: -> tensor<1x9x2x4xf32>
func.func @nn_attention_var_len(%x: tensor<1x9x2x4xf32>, %s: tensor<3xi32>, %m: tensor<1xi32>) -> tensor<1x9x2x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.nn_attention_var_len"(%x, %x, %x, %s, %m) {causal_mask = "TopLeft", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>} : (tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>, tensor<1x9x2x4xf32>, tensor<3xi32>, tensor<1xi32>) -> tensor<1x9x2x4xf32>
  return %gv : tensor<1x9x2x4xf32>
}
