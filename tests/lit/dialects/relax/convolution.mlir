// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @nn_conv1d(
// CHECK: "relax.nn_conv1d"(%x0, %x1) {groups = 2 : i64} : (tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>, tensor<8x2x3xf32>) -> tensor<?x8x?xf32, #relax.dims<["n", 8, "m - 2"]>>
func.func @nn_conv1d(%x0: tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>, %x1: tensor<8x2x3xf32>) -> tensor<?x8x?xf32, #relax.dims<["n", 8, "m - 2"]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv1d"(%x0, %x1) {groups = 2 : i64} : (tensor<?x4x?xf32, #relax.dims<["n", 4, "m"]>>, tensor<8x2x3xf32>) -> tensor<?x8x?xf32, #relax.dims<["n", 8, "m - 2"]>>
  return %gv : tensor<?x8x?xf32, #relax.dims<["n", 8, "m - 2"]>>
}

// CHECK-LABEL: func.func @nn_conv1d_transpose(
// CHECK: "relax.nn_conv1d_transpose"(%x0, %x1) : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
func.func @nn_conv1d_transpose(%x0: tensor<1x2x5xf32>, %x1: tensor<2x3x3xf32>) -> tensor<1x3x7xf32> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv1d_transpose"(%x0, %x1) : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x7xf32>
  return %gv : tensor<1x3x7xf32>
}

// CHECK-LABEL: func.func @nn_conv2d(
// CHECK: "relax.nn_conv2d"(%x0, %x1) {padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>, tensor<8x4x3x3xf32>) -> tensor<?x8x5x5xf32, #relax.dims<["n", 8, 5, 5]>>
func.func @nn_conv2d(%x0: tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>, %x1: tensor<8x4x3x3xf32>) -> tensor<?x8x5x5xf32, #relax.dims<["n", 8, 5, 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv2d"(%x0, %x1) {padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>, tensor<8x4x3x3xf32>) -> tensor<?x8x5x5xf32, #relax.dims<["n", 8, 5, 5]>>
  return %gv : tensor<?x8x5x5xf32, #relax.dims<["n", 8, 5, 5]>>
}

// CHECK-LABEL: func.func @nn_conv2d_1(
// CHECK: "relax.nn_conv2d"(%x0, %x1) {data_layout = "NHWC", dilation = array<i64: 2, 2>, kernel_layout = "HWIO"} : (tensor<?x9x8x4xf32, #relax.dims<["n", 9, 8, 4]>>, tensor<3x3x4x6xf32>) -> tensor<?x5x4x6xf32, #relax.dims<["n", 5, 4, 6]>>
func.func @nn_conv2d_1(%x0: tensor<?x9x8x4xf32, #relax.dims<["n", 9, 8, 4]>>, %x1: tensor<3x3x4x6xf32>) -> tensor<?x5x4x6xf32, #relax.dims<["n", 5, 4, 6]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv2d"(%x0, %x1) {data_layout = "NHWC", dilation = array<i64: 2, 2>, kernel_layout = "HWIO"} : (tensor<?x9x8x4xf32, #relax.dims<["n", 9, 8, 4]>>, tensor<3x3x4x6xf32>) -> tensor<?x5x4x6xf32, #relax.dims<["n", 5, 4, 6]>>
  return %gv : tensor<?x5x4x6xf32, #relax.dims<["n", 5, 4, 6]>>
}

// CHECK-LABEL: func.func @nn_conv2d_transpose(
// CHECK: "relax.nn_conv2d_transpose"(%x0, %x1) {output_padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<?x4x5x6xf32, #relax.dims<["n", 4, 5, 6]>>, tensor<4x8x3x3xf32>) -> tensor<?x8x12x14xf32, #relax.dims<["n", 8, 12, 14]>>
func.func @nn_conv2d_transpose(%x0: tensor<?x4x5x6xf32, #relax.dims<["n", 4, 5, 6]>>, %x1: tensor<4x8x3x3xf32>) -> tensor<?x8x12x14xf32, #relax.dims<["n", 8, 12, 14]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv2d_transpose"(%x0, %x1) {output_padding = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<?x4x5x6xf32, #relax.dims<["n", 4, 5, 6]>>, tensor<4x8x3x3xf32>) -> tensor<?x8x12x14xf32, #relax.dims<["n", 8, 12, 14]>>
  return %gv : tensor<?x8x12x14xf32, #relax.dims<["n", 8, 12, 14]>>
}

// CHECK-LABEL: func.func @nn_conv3d(
// CHECK: "relax.nn_conv3d"(%x0, %x1) : (tensor<1x2x5x6x7xf32>, tensor<3x2x3x3x3xf32>) -> tensor<1x3x3x4x5xf32>
func.func @nn_conv3d(%x0: tensor<1x2x5x6x7xf32>, %x1: tensor<3x2x3x3x3xf32>) -> tensor<1x3x3x4x5xf32> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv3d"(%x0, %x1) : (tensor<1x2x5x6x7xf32>, tensor<3x2x3x3x3xf32>) -> tensor<1x3x3x4x5xf32>
  return %gv : tensor<1x3x3x4x5xf32>
}

// CHECK-LABEL: func.func @nn_conv3d_transpose(
// CHECK: "relax.nn_conv3d_transpose"(%x0, %x1) : (tensor<1x2x5x6x7xf32>, tensor<2x3x3x3x3xf32>) -> tensor<1x3x7x8x9xf32>
func.func @nn_conv3d_transpose(%x0: tensor<1x2x5x6x7xf32>, %x1: tensor<2x3x3x3x3xf32>) -> tensor<1x3x7x8x9xf32> attributes {relax.attrs = {}} {
  %gv = "relax.nn_conv3d_transpose"(%x0, %x1) : (tensor<1x2x5x6x7xf32>, tensor<2x3x3x3x3xf32>) -> tensor<1x3x7x8x9xf32>
  return %gv : tensor<1x3x7x8x9xf32>
}
