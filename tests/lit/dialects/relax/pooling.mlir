// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @nn_max_pool1d(
// CHECK: "relax.nn_max_pool1d"(%x) {pool_size = array<i64: 3>} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
func.func @nn_max_pool1d(%x: tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_max_pool1d"(%x) {pool_size = array<i64: 3>} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
  return %gv : tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
}

// CHECK-LABEL: func.func @nn_avg_pool1d(
// CHECK: "relax.nn_avg_pool1d"(%x) {pool_size = array<i64: 3>} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
func.func @nn_avg_pool1d(%x: tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_avg_pool1d"(%x) {pool_size = array<i64: 3>} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
  return %gv : tensor<?x4x7xf32, #relax.dims<["n", 4, 7]>>
}

// CHECK-LABEL: func.func @nn_adaptive_avg_pool1d(
// CHECK: "relax.nn_adaptive_avg_pool1d"(%x) {output_size = 3 : i64} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
func.func @nn_adaptive_avg_pool1d(%x: tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_adaptive_avg_pool1d"(%x) {output_size = 3 : i64} : (tensor<?x4x9xf32, #relax.dims<["n", 4, 9]>>) -> tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
  return %gv : tensor<?x4x3xf32, #relax.dims<["n", 4, 3]>>
}

// CHECK-LABEL: func.func @nn_max_pool2d(
// CHECK: "relax.nn_max_pool2d"(%x) {ceil_mode = true, pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x5x4xf32, #relax.dims<["n", 4, 5, 4]>>
func.func @nn_max_pool2d(%x: tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x5x4xf32, #relax.dims<["n", 4, 5, 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_max_pool2d"(%x) {ceil_mode = true, pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x5x4xf32, #relax.dims<["n", 4, 5, 4]>>
  return %gv : tensor<?x4x5x4xf32, #relax.dims<["n", 4, 5, 4]>>
}

// CHECK-LABEL: func.func @nn_avg_pool2d(
// CHECK: "relax.nn_avg_pool2d"(%x) {pool_size = array<i64: 3, 3>} : (tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>) -> tensor<?x4x7x7xf32, #relax.dims<["n", 4, 7, 7]>>
func.func @nn_avg_pool2d(%x: tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>) -> tensor<?x4x7x7xf32, #relax.dims<["n", 4, 7, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_avg_pool2d"(%x) {pool_size = array<i64: 3, 3>} : (tensor<?x4x9x9xf32, #relax.dims<["n", 4, 9, 9]>>) -> tensor<?x4x7x7xf32, #relax.dims<["n", 4, 7, 7]>>
  return %gv : tensor<?x4x7x7xf32, #relax.dims<["n", 4, 7, 7]>>
}

// CHECK-LABEL: func.func @nn_adaptive_avg_pool2d(
// CHECK: "relax.nn_adaptive_avg_pool2d"(%x) {output_size = array<i64: 2, 3>} : (tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x2x3xf32, #relax.dims<["n", 4, 2, 3]>>
func.func @nn_adaptive_avg_pool2d(%x: tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x2x3xf32, #relax.dims<["n", 4, 2, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_adaptive_avg_pool2d"(%x) {output_size = array<i64: 2, 3>} : (tensor<?x4x9x8xf32, #relax.dims<["n", 4, 9, 8]>>) -> tensor<?x4x2x3xf32, #relax.dims<["n", 4, 2, 3]>>
  return %gv : tensor<?x4x2x3xf32, #relax.dims<["n", 4, 2, 3]>>
}

// CHECK-LABEL: func.func @nn_max_pool3d(
// CHECK: "relax.nn_max_pool3d"(%x) {pool_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
func.func @nn_max_pool3d(%x: tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_max_pool3d"(%x) {pool_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
  return %gv : tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
}

// CHECK-LABEL: func.func @nn_avg_pool3d(
// CHECK: "relax.nn_avg_pool3d"(%x) {pool_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
func.func @nn_avg_pool3d(%x: tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_avg_pool3d"(%x) {pool_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
  return %gv : tensor<?x4x7x7x7xf32, #relax.dims<["n", 4, 7, 7, 7]>>
}

// CHECK-LABEL: func.func @nn_adaptive_avg_pool3d(
// CHECK: "relax.nn_adaptive_avg_pool3d"(%x) {output_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x3x3x3xf32, #relax.dims<["n", 4, 3, 3, 3]>>
func.func @nn_adaptive_avg_pool3d(%x: tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x3x3x3xf32, #relax.dims<["n", 4, 3, 3, 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_adaptive_avg_pool3d"(%x) {output_size = array<i64: 3, 3, 3>} : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>) -> tensor<?x4x3x3x3xf32, #relax.dims<["n", 4, 3, 3, 3]>>
  return %gv : tensor<?x4x3x3x3xf32, #relax.dims<["n", 4, 3, 3, 3]>>
}

// CHECK-LABEL: func.func @nn_pad(
// CHECK: "relax.nn_pad"(%x) {pad_width = array<i64: 0, 1, 2, 3>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x9xf32, #relax.dims<["n + 1", 9]>>
func.func @nn_pad(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x9xf32, #relax.dims<["n + 1", 9]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_pad"(%x) {pad_width = array<i64: 0, 1, 2, 3>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x9xf32, #relax.dims<["n + 1", 9]>>
  return %gv : tensor<?x9xf32, #relax.dims<["n + 1", 9]>>
}

// CHECK-LABEL: func.func @nn_pixel_shuffle(
// CHECK: "relax.nn_pixel_shuffle"(%x) {upscale_factor = 2 : i64} : (tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>) -> tensor<?x2x6x6xf32, #relax.dims<["n", 2, 6, 6]>>
func.func @nn_pixel_shuffle(%x: tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>) -> tensor<?x2x6x6xf32, #relax.dims<["n", 2, 6, 6]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_pixel_shuffle"(%x) {upscale_factor = 2 : i64} : (tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>) -> tensor<?x2x6x6xf32, #relax.dims<["n", 2, 6, 6]>>
  return %gv : tensor<?x2x6x6xf32, #relax.dims<["n", 2, 6, 6]>>
}
