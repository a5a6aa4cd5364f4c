// RUN: relax-opt %s --relax-choose-layout | FileCheck %s

// A chain: one transposition in front, one behind; a channel shuffle stays inside.

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %1 = "relax.permute_dims"(%x) {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x16x32x32xf32>) -> tensor<1x32x32x16xf32>
// CHECK-NEXT: %2 = "relax.permute_dims"(%w) {axes = array<i64: 2, 3, 1, 0>} : (tensor<32x16x3x3xf32>) -> tensor<3x3x16x32xf32>
// CHECK-NEXT: %y = "relax.nn_conv2d"(%1, %2) {data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", padding = array<i64: 1, 1>} : (tensor<1x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x32x32x32xf32>
// CHECK-NEXT: %3 = "relax.expand_dims"(%b) {axis = array<i64: 0>} : (tensor<32x1x1xf32>) -> tensor<1x32x1x1xf32>
// CHECK-NEXT: %4 = "relax.shape_expr"() : () -> !relax.shape<[1, 1, 1, 32], 4 : i64>
// CHECK-NEXT: %5 = "relax.reshape"(%3, %4) : (tensor<1x32x1x1xf32>, !relax.shape<[1, 1, 1, 32], 4 : i64>) -> tensor<1x1x1x32xf32>
// CHECK-NEXT: %z = "relax.add"(%y, %5) : (tensor<1x32x32x32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x32x32x32xf32>
// CHECK-NEXT: %s0 = "relax.shape_expr"() : () -> !relax.shape<[1, 2, 16, 32, 32], 5 : i64>
// CHECK-NEXT: %6 = "relax.shape_expr"() : () -> !relax.shape<[1, 32, 32, 2, 16], 5 : i64>
// CHECK-NEXT: %r = "relax.reshape"(%z, %6) : (tensor<1x32x32x32xf32>, !relax.shape<[1, 32, 32, 2, 16], 5 : i64>) -> tensor<1x32x32x2x16xf32>
// CHECK-NEXT: %s1 = "relax.shape_expr"() : () -> !relax.shape<[1, 32, 32, 32], 4 : i64>
// CHECK-NEXT: %7 = "relax.permute_dims"(%r) {axes = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x32x32x2x16xf32>) -> tensor<1x32x32x16x2xf32>
// CHECK-NEXT: %8 = "relax.shape_expr"() : () -> !relax.shape<[1, 32, 32, 32], 4 : i64>
// CHECK-NEXT: %u = "relax.reshape"(%7, %8) : (tensor<1x32x32x16x2xf32>, !relax.shape<[1, 32, 32, 32], 4 : i64>) -> tensor<1x32x32x32xf32>
// CHECK-NEXT: %p = "relax.nn_max_pool2d"(%u) {layout = "NHWC", pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x32x32x32xf32>) -> tensor<1x16x16x32xf32>
// CHECK-NEXT: %9 = "relax.permute_dims"(%p) {axes = array<i64: 0, 3, 1, 2>} : (tensor<1x16x16x32xf32>) -> tensor<1x32x16x16xf32>
// CHECK-NEXT: "relax.output"(%9) : (tensor<1x32x16x16xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<1x32x16x16xf32>
// CHECK-NEXT: return %0 : tensor<1x32x16x16xf32>
func.func @chain(%x: tensor<1x16x32x32xf32> {relax.name = "x"}, %w: tensor<32x16x3x3xf32> {relax.name = "w"}, %b: tensor<32x1x1xf32> {relax.name = "b"}) -> tensor<1x32x16x16xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.nn_conv2d"(%x, %w) {padding = array<i64: 1, 1>} : (tensor<1x16x32x32xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x32x32xf32>
    %z = "relax.add"(%y, %b) : (tensor<1x32x32x32xf32>, tensor<32x1x1xf32>) -> tensor<1x32x32x32xf32>
    %s0 = "relax.shape_expr"() : () -> !relax.shape<[1, 2, 16, 32, 32], 5 : i64>
    %r = "relax.reshape"(%z, %s0) : (tensor<1x32x32x32xf32>, !relax.shape<[1, 2, 16, 32, 32], 5 : i64>) -> tensor<1x2x16x32x32xf32>
    %t = "relax.permute_dims"(%r) {axes = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x16x32x32xf32>) -> tensor<1x16x2x32x32xf32>
    %s1 = "relax.shape_expr"() : () -> !relax.shape<[1, 32, 32, 32], 4 : i64>
    %u = "relax.reshape"(%t, %s1) : (tensor<1x16x2x32x32xf32>, !relax.shape<[1, 32, 32, 32], 4 : i64>) -> tensor<1x32x32x32xf32>
    %p = "relax.nn_max_pool2d"(%u) {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x32x32x32xf32>) -> tensor<1x32x16x16xf32>
    "relax.output"(%p) : (tensor<1x32x16x16xf32>) -> ()
  }) : () -> tensor<1x32x16x16xf32>
  return %0 : tensor<1x32x16x16xf32>
}

// A network of NHWC images written for NCHW: nothing is left to transpose.

// CHECK-LABEL: func.func @absorbed
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", padding = array<i64: 1, 1>} : (tensor<1x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<1x32x32x32xf32>
// CHECK-NEXT: %m = "relax.mean"(%y) {axis = array<i64: 1, 2>} : (tensor<1x32x32x32xf32>) -> tensor<1x32xf32>
// CHECK-NEXT: "relax.output"(%m) : (tensor<1x32xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<1x32xf32>
// CHECK-NEXT: return %0 : tensor<1x32xf32>
func.func @absorbed(%x: tensor<1x32x32x16xf32> {relax.name = "x"}, %w: tensor<3x3x16x32xf32> {relax.name = "w"}) -> tensor<1x32xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %t = "relax.permute_dims"(%x) {axes = array<i64: 0, 3, 1, 2>} : (tensor<1x32x32x16xf32>) -> tensor<1x16x32x32xf32>
    %y = "relax.nn_conv2d"(%t, %w) {padding = array<i64: 1, 1>, kernel_layout = "HWIO"} : (tensor<1x16x32x32xf32>, tensor<3x3x16x32xf32>) -> tensor<1x32x32x32xf32>
    %m = "relax.mean"(%y) {axis = array<i64: 2, 3>} : (tensor<1x32x32x32xf32>) -> tensor<1x32xf32>
    "relax.output"(%m) : (tensor<1x32xf32>) -> ()
  }) : () -> tensor<1x32xf32>
  return %0 : tensor<1x32xf32>
}

// One output channel leaves the lanes of vectors empty: the images stay as they are.

// CHECK-LABEL: func.func @kept
// CHECK-NEXT: %0 = "relax.nn_conv2d"(%x, %w) : (tensor<1x1x64x64xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x62x62xf32>
// CHECK-NEXT: return %0 : tensor<1x1x62x62xf32>
func.func @kept(%x: tensor<1x1x64x64xf32> {relax.name = "x"}, %w: tensor<1x1x3x3xf32> {relax.name = "w"}) -> tensor<1x1x62x62xf32> attributes {relax.attrs = {}} {
  %0 = "relax.nn_conv2d"(%x, %w) : (tensor<1x1x64x64xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x62x62xf32>
  return %0 : tensor<1x1x62x62xf32>
}
