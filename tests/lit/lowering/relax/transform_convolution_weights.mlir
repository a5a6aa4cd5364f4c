// RUN: relax-opt %s --relax-transform-convolution-weights | FileCheck %s
// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights{accuracy=exact})" | FileCheck %s --check-prefix=EXACT
// RUN: not relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights{accuracy=low})" 2>&1 | FileCheck %s --check-prefix=LOW

// LOW: convolution-accuracy is 'low', expected default or exact

// Three by three over many channels: tiles of four by four outputs from six by six products, or, if
// no digit may be lost, two by two from four by four.  The weight is transformed.
// CHECK: func.func private @conv2d_winograd({{.*}}memref<2x6x6x64x32xf32>
// CHECK-NOT: weight_transform
// CHECK: sym_name = "input_rows"
// CHECK: sym_name = "input_transform"
// CHECK: sym_name = "bgemm"
// CHECK: sym_name = "output_rows"
// CHECK: sym_name = "conv2d_winograd"
// CHECK: func.func private @conv2d_winograd1({{.*}}%w: memref<3x3x64x64xf32>
// CHECK: sym_name = "weight_rows"
// CHECK: sym_name = "weight_transform"
// CHECK: sym_name = "bgemm"
// EXACT: func.func private @conv2d_winograd({{.*}}memref<2x4x4x64x32xf32>
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

// A weight that is no constant is transformed in the call.
// CHECK-LABEL: func.func @argument
// CHECK: "relax.call_tir"(%x, %w) {callee = @conv2d_winograd1}
func.func @argument(%x: tensor<1x28x28x64xf32> {relax.name = "x"}, %w: tensor<3x3x64x64xf32> {relax.name = "w"}) -> tensor<1x28x28x64xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x28x28x64xf32>
    "relax.output"(%y) : (tensor<1x28x28x64xf32>) -> ()
  }) : () -> tensor<1x28x28x64xf32>
  return %0 : tensor<1x28x28x64xf32>
}

// Where Winograd's transform makes a large weight larger still it is made anew in every call, from
// panels of output channels with all taps of an input channel together.
// CHECK-LABEL: func.func @large
// CHECK: "relax.call_tir"(%x, %{{.*}}) {{.*}}tensor<32x512x3x3x16xf32>
func.func @large(%x: tensor<1x7x7x512xf32> {relax.name = "x"}) -> tensor<1x7x7x512xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x512x512xf32>} : () -> tensor<3x3x512x512xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x7x7x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x7x7x512xf32>
    "relax.output"(%y) : (tensor<1x7x7x512xf32>) -> ()
  }) : () -> tensor<1x7x7x512xf32>
  return %0 : tensor<1x7x7x512xf32>
}

// Three taps along a line: six products for four outputs.
// CHECK-LABEL: func.func @line
// CHECK: "relax.call_tir"(%x, %{{.*}}) {callee = @conv1d_winograd} {{.*}}tensor<3x6x64x32xf32>
func.func @line(%x: tensor<1x400x64xf32> {relax.name = "x"}) -> tensor<1x400x96xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x64x96xf32>} : () -> tensor<3x64x96xf32>
    %y = "relax.nn_conv1d"(%x, %w) {data_layout = "NWC", kernel_layout = "WIO", padding = 1 : i64} : (tensor<1x400x64xf32>, tensor<3x64x96xf32>) -> tensor<1x400x96xf32>
    "relax.output"(%y) : (tensor<1x400x96xf32>) -> ()
  }) : () -> tensor<1x400x96xf32>
  return %0 : tensor<1x400x96xf32>
}

// Of images whose sizes only run time knows the weight is in panels.
// CHECK-LABEL: func.func @of_any_size
// CHECK: "relax.call_tir"(%x, %{{.*}}) {callee = @conv2d_panels{{.*}}tensor<{{.*}}x3x3x64x{{.*}}xf32>
func.func @of_any_size(%x: tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>> {relax.name = "x"}) -> tensor<1x?x?x64xf32, #relax.dims<[1, "floordiv(h, 2)", "floordiv(w, 2)", 64]>> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = array<i64: 0, 0, 1, 1>, strides = 2 : i64} : (tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>, tensor<3x3x64x64xf32>) -> tensor<1x?x?x64xf32, #relax.dims<[1, "floordiv(h, 2)", "floordiv(w, 2)", 64]>>
    "relax.output"(%y) : (tensor<1x?x?x64xf32, #relax.dims<[1, "floordiv(h, 2)", "floordiv(w, 2)", 64]>>) -> ()
  }) : () -> tensor<1x?x?x64xf32, #relax.dims<[1, "floordiv(h, 2)", "floordiv(w, 2)", 64]>>
  return %0 : tensor<1x?x?x64xf32, #relax.dims<[1, "floordiv(h, 2)", "floordiv(w, 2)", 64]>>
}
