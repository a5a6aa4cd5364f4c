// RUN: relax-opt %s --relax-transform-convolution-weights | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights{accuracy=exact})" | FileCheck %s --check-prefix=EXACT
// RUN: not relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights{accuracy=low})" 2>&1 | FileCheck %s --check-prefix=LOW

// LOW: convolution-accuracy is 'low', expected default or exact

// Three by three over many channels: tiles of four by four outputs from six by six products, or, if
// no digit may be lost, two by two from four by four.  The weight is transformed.
// CHECK: func.func private @conv2d_winograd({{.*}}memref<6x6x
// CHECK: sym_name = "input_rows"
// CHECK: sym_name = "input_transform"
// CHECK: sym_name = "bgemm"
// CHECK: sym_name = "output_rows"
// CHECK: sym_name = "conv2d_winograd"
// EXACT: func.func private @conv2d_winograd({{.*}}memref<4x4x
// CHECK-LABEL: func.func @main
// CHECK: relax.constant
// CHECK: "relax.call_tir"(%x, %{{.*}}) {callee = @conv2d_winograd}
// CHECK-NOT: relax.nn_conv2d
func.func @main(%x: tensor<1x28x28x64xf32> {relax.name = "x"}) -> tensor<1x28x28x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
    "relax.output"(%y) : (tensor<1x28x28x64xf32>) -> ()
  }) : () -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// A weight that is no constant stays as it is.
// CHECK-LABEL: func.func @argument
// CHECK: relax.nn_conv2d
func.func @argument(%x: tensor<1x28x28x64xf32> {relax.name = "x"}, %w: tensor<3x3x64x64xf32> {relax.name = "w"}) -> tensor<1x28x28x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
    "relax.output"(%y) : (tensor<1x28x28x64xf32>) -> ()
  }) : () -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}
