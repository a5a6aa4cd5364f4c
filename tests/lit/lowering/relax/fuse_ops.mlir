// RUN: relax-opt %s --relax-legalize-ops --relax-annotate-tir-op-pattern --relax-fuse-ops | FileCheck %s

// The matmul takes bias and relu as its epilogue: one private function with the attribute
// Primitive, whose parameters have the names of what is given to them.
// CHECK-LABEL: func.func private @fused_matmul_add_relu(
// CHECK-SAME: %x: tensor<4x8xf32> {relax.name = "x"}
// CHECK-SAME: %w: tensor<8x4xf32> {relax.name = "w"}
// CHECK-SAME: %b: tensor<4xf32> {relax.name = "b"}
// CHECK-SAME: relax.attrs = {Primitive = true}
// CHECK: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %lv = "relax.call_tir"(%x, %w) {callee = @matmul}
// CHECK-NEXT: %lv1 = "relax.call_tir"(%lv, %b) {callee = @add}
// CHECK-NEXT: %[[OUT:.*]] = "relax.call_tir"(%lv1) {callee = @relu}
// CHECK-NEXT: "relax.output"(%[[OUT]])
// CHECK: return %gv

// CHECK-LABEL: func.func @epilogue(
// CHECK: %[[GV:.*]] = "relax.call"(%x, %w, %b) {callee = @fused_matmul_add_relu}
// CHECK-NEXT: "relax.output"(%[[GV]])
func.func @epilogue(%x: tensor<4x8xf32> {relax.name = "x"}, %w: tensor<8x4xf32> {relax.name = "w"}, %b: tensor<4xf32> {relax.name = "b"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %lv1 = "relax.add"(%lv, %b) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %lv2 = "relax.nn_relu"(%lv1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "relax.output"(%lv2) : (tensor<4x4xf32>) -> ()
  }) : () -> tensor<4x4xf32>
  return %gv : tensor<4x4xf32>
}

// A reduction takes what leads to it, and nothing behind it.
// CHECK-LABEL: func.func private @fused_add1_sum(
// CHECK-LABEL: func.func @reduction(
// CHECK: %lv = "relax.call"(%x, %y) {callee = @fused_add1_sum}
// CHECK-NEXT: %lv2 = "relax.call_tir"(%lv) {callee = @relu1}
func.func @reduction(%x: tensor<4x4xf32> {relax.name = "x"}, %y: tensor<4x4xf32> {relax.name = "y"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.add"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %lv1 = "relax.sum"(%lv) {axis = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
    %lv2 = "relax.nn_relu"(%lv1) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%lv2) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %gv : tensor<4xf32>
}

// Both branches of a diamond meet in their post-dominator: all four are one function.
// CHECK-LABEL: func.func private @fused_add1_relu_relu_add1(
// CHECK-LABEL: func.func @diamond(
// CHECK: "relax.call"(%x, %y) {callee = @fused_add1_relu_relu_add1}
func.func @diamond(%x: tensor<4x4xf32> {relax.name = "x"}, %y: tensor<4x4xf32> {relax.name = "y"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.add"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %lv2 = "relax.nn_relu"(%lv) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %lv3 = "relax.add"(%lv1, %lv2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "relax.output"(%lv3) : (tensor<4x4xf32>) -> ()
  }) : () -> tensor<4x4xf32>
  return %gv : tensor<4x4xf32>
}

// A value that leaves the block stays outside.
// CHECK-LABEL: func.func @two_outputs(
// CHECK: %lv = "relax.call_tir"(%x, %y) {callee = @add1}
// CHECK-NEXT: %lv1 = "relax.call_tir"(%lv)
func.func @two_outputs(%x: tensor<4x4xf32> {relax.name = "x"}, %y: tensor<4x4xf32> {relax.name = "y"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %gv, %gv1 = "relax.dataflow"() ({
    %lv = "relax.add"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "relax.output"(%lv, %lv1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) : () -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %r = "relax.add"(%gv, %gv1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Sizes that depend on a symbol: the fused function has the symbol in its parameters' types.
// CHECK-LABEL: func.func private @fused_add2_relu2(
// CHECK-SAME: %x: tensor<?x4xf32, #relax.dims<["n", 4]>>
// CHECK-LABEL: func.func @dynamic(
func.func @dynamic(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.add"(%x, %x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    "relax.output"(%lv1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// Groups that do the same share one function.
// CHECK-NOT: func.func private @fused_
// CHECK-LABEL: func.func @repeated(
// CHECK: "relax.call"(%x) {callee = @fused_add2_relu2}
// CHECK: "relax.call"(%gv) {callee = @fused_add2_relu2}
func.func @repeated(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.add"(%x, %x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    "relax.output"(%lv1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %gv1 = "relax.dataflow"() ({
    %lv = "relax.add"(%gv, %gv) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
    "relax.output"(%lv1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv1 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
