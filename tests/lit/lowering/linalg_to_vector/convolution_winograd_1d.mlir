// RUN: relax-opt %s --relax-transform-convolution-weights | FileCheck %s --check-prefix=FORM
// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=128})" | FileCheck %s --check-prefix=NARROW

// Panels made for this machine's registers are read by narrow ones too.
// NARROW-LABEL: func.func private @fused_conv2d_winograd_1d
// NARROW-NOT: linalg
// NARROW: vector<4xf32>
// NARROW: return

// The stem of ResNet: columns go through Winograd's algorithm, four outputs from thirteen products
// (seven of the even taps, six of the odd), the seven rows of the kernel are summed like channels.
// FORM: func.func private @conv2d_winograd_1d({{.*}}memref<2x13x7x3x32xf32>
// FORM: sym_name = "input_transform"
// FORM: sym_name = "tap_products"
// FORM: sym_name = "conv2d_winograd_1d"
// FORM: "relax.call_tir"(%x, %{{.*}}) {callee = @conv2d_winograd_1d}
// FORM-NOT: relax.nn_conv2d

// One nest: the transformed data of some rows and the products of a piece of the tiles are all that
// is in memory; bias and activation are applied to the transformed products.
// CHECK-LABEL: func.func private @fused_conv2d_winograd_1d
// CHECK-NOT: memref.alloc() : memref<1x112x112x64xf32>
// CHECK-DAG: arith.constant dense<6.250000e-01> : vector<16xf32>
// CHECK-DAG: arith.constant dense<8.750000e-01> : vector<16xf32>
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
func.func @main(%x: tensor<1x224x224x3xf32> {relax.name = "x"}, %b: tensor<64xf32> {relax.name = "b"}) -> tensor<1x112x112x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<7x7x3x64xf32>} : () -> tensor<7x7x3x64xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 3 : i64, strides = 2 : i64} : (tensor<1x224x224x3xf32>, tensor<7x7x3x64xf32>) -> tensor<1x112x112x64xf32>
    %z = "relax.add"(%y, %b) : (tensor<1x112x112x64xf32>, tensor<64xf32>) -> tensor<1x112x112x64xf32>
    %r = "relax.nn_relu"(%z) : (tensor<1x112x112x64xf32>) -> tensor<1x112x112x64xf32>
    "relax.output"(%r) : (tensor<1x112x112x64xf32>) -> ()
  }) : () -> tensor<1x112x112x64xf32>
  return %0 : tensor<1x112x112x64xf32>
}
