// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s

// Few tiles of many channels: the weight, in panels of a vector with all taps of an input channel
// together, is transformed in registers.  Two buffers are all that is needed, for the data and for
// the products of a vector of output channels; none holds factors.  7 = 4 + 3 positions: both tiles
// of a line have five columns of products, the first one has a sixth, so that a row of products of
// two lines has 22 sums.
// CHECK-LABEL: func.func private @conv2d_winograd
// CHECK-SAME: memref<16x256x3x3x16xf32>
// CHECK-NOT: linalg
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} iter_args({{([^,)]*, ){21}[^,)]*}}) -> (vector<16xf32>
// CHECK-NOT: linalg
// CHECK: return
func.func @few_tiles(%x: tensor<1x7x7x256xf32> {relax.name = "x"}) -> tensor<1x7x7x256xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x256x256xf32>} : () -> tensor<3x3x256x256xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x7x7x256xf32>, tensor<3x3x256x256xf32>) -> tensor<1x7x7x256xf32>
    "relax.output"(%y) : (tensor<1x7x7x256xf32>) -> ()
  }) : () -> tensor<1x7x7x256xf32>
  return %0 : tensor<1x7x7x256xf32>
}
