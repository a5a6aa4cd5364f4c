// RUN: relax-opt %s --relax-merge-composite-functions | FileCheck %s

// The first two calls merge; the third waits for sin.
// CHECK-LABEL: func.func private @conv(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {Composite = "dnnl.exp", Primitive = true}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %gv = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%gv) : (tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2xf32>
// CHECK-NEXT: return %0 : tensor<2xf32>
// CHECK-LABEL: func.func private @other(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {Composite = "dnnl.log", Primitive = true}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %gv = "relax.log"(%x) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%gv) : (tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2xf32>
// CHECK-NEXT: return %0 : tensor<2xf32>
// CHECK-LABEL: func.func private @fused_conv_other_dnnl(%x: tensor<2xf32> {relax.name = "x"}) -> tuple<tensor<2xf32>, tensor<2xf32>> attributes {relax.attrs = {Codegen = "dnnl"}} {
// CHECK-NEXT: %gv:2 = "relax.dataflow"() ({
// CHECK-NEXT: %gv_0 = "relax.call"(%x) {callee = @conv} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %gv_1 = "relax.call"(%gv_0) {callee = @other} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%gv_0, %gv_1) : (tensor<2xf32>, tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> (tensor<2xf32>, tensor<2xf32>)
// CHECK-NEXT: %0 = "relax.tuple"(%gv#0, %gv#1) : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT: return %0 : tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-LABEL: func.func private @fused_conv_dnnl(%c: tensor<2xf32> {relax.name = "c"}) -> tensor<2xf32> attributes {relax.attrs = {Codegen = "dnnl"}} {
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %gv_0 = "relax.call"(%c) {callee = @conv} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%gv_0) : (tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2xf32>
// CHECK-NEXT: return %gv : tensor<2xf32>
// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %lv = "relax.call"(%x) {callee = @fused_conv_other_dnnl} : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK-NEXT: %a = "relax.tuple_get_item"(%lv) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %b = "relax.tuple_get_item"(%lv) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %c = "relax.sin"(%a) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %lv1 = "relax.call"(%c) {callee = @fused_conv_dnnl} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %e = "relax.add"(%b, %lv1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "relax.output"(%e) : (tensor<2xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<2xf32>
// CHECK-NEXT: return %0 : tensor<2xf32>
func.func private @conv(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {Composite = "dnnl.exp", Primitive = true}} {
  %0 = "relax.dataflow"() ({
    %gv = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%gv) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @other(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {Composite = "dnnl.log", Primitive = true}} {
  %0 = "relax.dataflow"() ({
    %gv = "relax.log"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%gv) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.call"(%x) {callee = @conv} : (tensor<2xf32>) -> tensor<2xf32>
    %b = "relax.call"(%a) {callee = @other} : (tensor<2xf32>) -> tensor<2xf32>
    %c = "relax.sin"(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %d = "relax.call"(%c) {callee = @conv} : (tensor<2xf32>) -> tensor<2xf32>
    %e = "relax.add"(%b, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.output"(%e) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
