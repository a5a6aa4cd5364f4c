// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s

// A weight that is an argument is transformed in the call, a block at a time: a third buffer, for a
// part of its products, which lies in the cache, not 6 x 6 x 64 x 64 elements.
// CHECK-LABEL: func.func private @conv2d_winograd
// CHECK-NOT: linalg
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg
// CHECK: return
func.func @argument(%x: tensor<1x28x28x64xf32> {relax.name = "x"}, %w: tensor<3x3x64x64xf32> {relax.name = "w"}) -> tensor<1x28x28x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
    "relax.output"(%y) : (tensor<1x28x28x64xf32>) -> ()
  }) : () -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
