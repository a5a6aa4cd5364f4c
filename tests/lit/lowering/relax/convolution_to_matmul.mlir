// RUN: relax-opt %s --relax-convolution-to-matmul | FileCheck %s

// CHECK-LABEL: func.func @strided
// CHECK-NEXT: %0 = "relax.shape_expr"() : () -> !relax.shape<[1, 2], 2 : i64>
// CHECK-NEXT: %1 = "relax.shape_expr"() : () -> !relax.shape<[0, 0], 2 : i64>
// CHECK-NEXT: %2 = "relax.shape_expr"() : () -> !relax.shape<[9, 7], 2 : i64>
// CHECK-NEXT: %3 = "relax.shape_expr"() : () -> !relax.shape<[2, 2], 2 : i64>
// CHECK-NEXT: %4 = "relax.strided_slice"(%x, %0, %1, %2, %3) {assume_inbound = true} : (tensor<1x9x8x4xf32>, !relax.shape<[1, 2], 2 : i64>, !relax.shape<[0, 0], 2 : i64>, !relax.shape<[9, 7], 2 : i64>, !relax.shape<[2, 2], 2 : i64>) -> tensor<1x5x4x4xf32>
// CHECK-NEXT: %5 = "relax.shape_expr"() : () -> !relax.shape<[4, 6], 2 : i64>
// CHECK-NEXT: %6 = "relax.reshape"(%w, %5) : (tensor<1x1x4x6xf32>, !relax.shape<[4, 6], 2 : i64>) -> tensor<4x6xf32>
// CHECK-NEXT: %7 = "relax.matmul"(%4, %6) : (tensor<1x5x4x4xf32>, tensor<4x6xf32>) -> tensor<1x5x4x6xf32>
// CHECK-NEXT: return %7 : tensor<1x5x4x6xf32>
func.func @strided(%x: tensor<1x9x8x4xf32> {relax.name = "x"}, %w: tensor<1x1x4x6xf32> {relax.name = "w"}) -> tensor<1x5x4x6xf32> attributes {relax.attrs = {}} {
  %0 = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", strides = array<i64: 2, 2>} : (tensor<1x9x8x4xf32>, tensor<1x1x4x6xf32>) -> tensor<1x5x4x6xf32>
  return %0 : tensor<1x5x4x6xf32>
}

// Sizes that are symbols are the convolution's, so that what follows fits.
// CHECK-LABEL: func.func @of_any_size
// CHECK: "relax.strided_slice"{{.*}} -> tensor<1x?x4xf32, #relax.dims<[1, "floordiv(w - 1, 2) + 1", 4]>>
// CHECK: "relax.matmul"{{.*}} -> tensor<1x?x6xf32, #relax.dims<[1, "floordiv(w - 1, 2) + 1", 6]>>
// CHECK-NOT: relax.bind
func.func @of_any_size(%x: tensor<1x?x4xf32, #relax.dims<[1, "w", 4]>> {relax.name = "x"}, %w: tensor<1x4x6xf32> {relax.name = "w"}) -> tensor<1x?x6xf32, #relax.dims<[1, "floordiv(w - 1, 2) + 1", 6]>> attributes {relax.attrs = {}} {
  %0 = "relax.nn_conv1d"(%x, %w) {data_layout = "NWC", kernel_layout = "WIO", strides = array<i64: 2>} : (tensor<1x?x4xf32, #relax.dims<[1, "w", 4]>>, tensor<1x4x6xf32>) -> tensor<1x?x6xf32, #relax.dims<[1, "floordiv(w - 1, 2) + 1", 6]>>
  return %0 : tensor<1x?x6xf32, #relax.dims<[1, "floordiv(w - 1, 2) + 1", 6]>>
}

// CHECK-LABEL: func.func @transposed
// CHECK-NEXT: %0 = "relax.permute_dims"(%w) {axes = array<i64: 1, 0, 2>} : (tensor<2x4x6xf32>) -> tensor<4x2x6xf32>
// CHECK-NEXT: %1 = "relax.shape_expr"() : () -> !relax.shape<[4, 12], 2 : i64>
// CHECK-NEXT: %2 = "relax.reshape"(%0, %1) : (tensor<4x2x6xf32>, !relax.shape<[4, 12], 2 : i64>) -> tensor<4x12xf32>
// CHECK-NEXT: %3 = "relax.matmul"(%x, %2) : (tensor<1x5x4xf32>, tensor<4x12xf32>) -> tensor<1x5x12xf32>
// CHECK-NEXT: %4 = "relax.shape_expr"() : () -> !relax.shape<[1, 10, 6], 3 : i64>
// CHECK-NEXT: %5 = "relax.reshape"(%3, %4) : (tensor<1x5x12xf32>, !relax.shape<[1, 10, 6], 3 : i64>) -> tensor<1x10x6xf32>
// CHECK-NEXT: return %5 : tensor<1x10x6xf32>
func.func @transposed(%x: tensor<1x5x4xf32> {relax.name = "x"}, %w: tensor<2x4x6xf32> {relax.name = "w"}) -> tensor<1x10x6xf32> attributes {relax.attrs = {}} {
  %0 = "relax.nn_conv1d_transpose"(%x, %w) {data_layout = "NWC", kernel_layout = "WIO", strides = array<i64: 2>} : (tensor<1x5x4xf32>, tensor<2x4x6xf32>) -> tensor<1x10x6xf32>
  return %0 : tensor<1x10x6xf32>
}

// A window is no product.

// CHECK-LABEL: func.func @kept
// CHECK-NEXT: %0 = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x9x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x7x6x6xf32>
// CHECK-NEXT: return %0 : tensor<1x7x6x6xf32>
func.func @kept(%x: tensor<1x9x8x4xf32> {relax.name = "x"}, %w: tensor<3x3x4x6xf32> {relax.name = "w"}) -> tensor<1x7x6x6xf32> attributes {relax.attrs = {}} {
  %0 = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x9x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x7x6x6xf32>
  return %0 : tensor<1x7x6x6xf32>
}
