// RUN: relax-opt %s --pass-pipeline=builtin.module(relax-to-mixed-precision{out-dtype=float16}) | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<8x16xf32> {relax.name = "w"}, %b: tensor<16xf32> {relax.name = "b"}) -> tensor<2x16xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %1 = "relax.astype"(%x) {dtype = "float16"} : (tensor<2x8xf32>) -> tensor<2x8xf16>
// CHECK-NEXT: %2 = "relax.astype"(%w) {dtype = "float16"} : (tensor<8x16xf32>) -> tensor<8x16xf16>
// CHECK-NEXT: %a = "relax.matmul"(%1, %2) {out_dtype = "float16"} : (tensor<2x8xf16>, tensor<8x16xf16>) -> tensor<2x16xf16>
// CHECK-NEXT: %c = "relax.nn_relu"(%a) : (tensor<2x16xf16>) -> tensor<2x16xf16>
// CHECK-NEXT: %3 = "relax.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %4 = "relax.astype"(%3) {dtype = "float16"} : (tensor<f32>) -> tensor<f16>
// CHECK-NEXT: %d = "relax.multiply"(%c, %4) : (tensor<2x16xf16>, tensor<f16>) -> tensor<2x16xf16>
// CHECK-NEXT: %5 = "relax.astype"(%d) {dtype = "float32"} : (tensor<2x16xf16>) -> tensor<2x16xf32>
// CHECK-NEXT: %e = "relax.nn_softmax"(%5) : (tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: "relax.output"(%e) : (tensor<2x16xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2x16xf32>
// CHECK-NEXT: return %0 : tensor<2x16xf32>
func.func @main(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<8x16xf32> {relax.name = "w"}, %b: tensor<16xf32> {relax.name = "b"}) -> tensor<2x16xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
    %c = "relax.nn_relu"(%a) : (tensor<2x16xf32>) -> tensor<2x16xf32>
    %1 = "relax.constant"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>
    %d = "relax.multiply"(%c, %1) : (tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %e = "relax.nn_softmax"(%d) : (tensor<2x16xf32>) -> tensor<2x16xf32>
    "relax.output"(%e) : (tensor<2x16xf32>) -> ()
  }) : () -> tensor<2x16xf32>
  return %0 : tensor<2x16xf32>
}
