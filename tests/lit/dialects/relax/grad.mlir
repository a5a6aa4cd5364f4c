// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @grad_take_backward(
// CHECK: "relax.grad_take_backward"(%x0, %x1, %x2)
func.func @grad_take_backward(%x0: tensor<4x6xf32>, %x1: tensor<5x6xf32>, %x2: tensor<4xi32>) -> tensor<5x6xf32> attributes {relax.attrs = {}} {
  %gv = "relax.grad_take_backward"(%x0, %x1, %x2) {axis = 0} : (tensor<4x6xf32>, tensor<5x6xf32>, tensor<4xi32>) -> tensor<5x6xf32>
  return %gv : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @grad_max_pool2d_backward(
// CHECK: "relax.grad_max_pool2d_backward"(%x0, %x1)
func.func @grad_max_pool2d_backward(%x0: tensor<1x2x4x4xf32>, %x1: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> attributes {relax.attrs = {}} {
  %gv = "relax.grad_max_pool2d_backward"(%x0, %x1) {pool_size = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  return %gv : tensor<1x2x8x8xf32>
}

// CHECK-LABEL: func.func @grad_avg_pool2d_backward(
// CHECK: "relax.grad_avg_pool2d_backward"(%x0, %x1)
func.func @grad_avg_pool2d_backward(%x0: tensor<1x2x4x4xf32>, %x1: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> attributes {relax.attrs = {}} {
  %gv = "relax.grad_avg_pool2d_backward"(%x0, %x1) {pool_size = [2, 2], strides = [2, 2]} : (tensor<1x2x4x4xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  return %gv : tensor<1x2x8x8xf32>
}
