// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s

// The blocks of a Winograd convolution become one nest: what they pass on are the transformed data of
// some rows of tiles and the products of a panel of output channels; transforms are additions and multiply-adds by constants in
// registers, and bias and activation are applied before the output is stored.
// CHECK-LABEL: func.func private @fused_conv2d_winograd
// CHECK-NOT: memref.alloc() : memref<1x28x28x64xf32>
// CHECK-DAG: arith.constant dense<-2.250000e+00> : vector<16xf32>
// CHECK-DAG: arith.constant dense<6.250000e-01> : vector<16xf32>
// CHECK-NOT: linalg
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: iter_args
// CHECK: math.fma
// CHECK: arith.maximumf
// CHECK: vector.store
// CHECK-NOT: linalg
// CHECK: return
func.func @main(%x: tensor<1x28x28x64xf32> {relax.name = "x"}, %b: tensor<64xf32> {relax.name = "b"}) -> tensor<1x28x28x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
    %z = "relax.add"(%y, %b) : (tensor<1x28x28x64xf32>, tensor<64xf32>) -> tensor<1x28x28x64xf32>
    %r = "relax.nn_relu"(%z) : (tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
    "relax.output"(%r) : (tensor<1x28x28x64xf32>) -> ()
  }) : () -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
