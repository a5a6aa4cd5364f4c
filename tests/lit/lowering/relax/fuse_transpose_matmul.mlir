// RUN: relax-opt %s --relax-zero --relax-fuse-transpose-matmul | FileCheck %s
// RUN: relax-opt %s --relax-default | FileCheck %s --check-prefix=DEFAULT

// The transposition and the fused matmul that reads it become one group.
// CHECK-LABEL: func.func private @fused_transpose_matmul_add(
// CHECK-SAME: %w: tensor<4x8xf32> {relax.name = "w"}
// CHECK-SAME: Primitive = true
// CHECK: "relax.call_tir"(%w) {callee = @transpose}
// CHECK: callee = @fused_matmul_add
// CHECK-LABEL: func.func @linear(
// CHECK-NOT: relax.call_tir
// CHECK: "relax.call"({{.*}}) {callee = @fused_transpose_matmul_add}

// DEFAULT-LABEL: func.func private @fused_transpose_matmul_add(
// DEFAULT-SAME: %w: memref<4x8xf32>
// DEFAULT-LABEL: func.func @linear(
// DEFAULT: "relax.call_tir"({{.*}}) {callee = @fused_transpose_matmul_add}
func.func @linear(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<4x8xf32> {relax.name = "w"}, %b: tensor<4xf32> {relax.name = "b"}) -> tensor<2x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.permute_dims"(%w) : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %lv1 = "relax.matmul"(%x, %lv) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %lv2 = "relax.add"(%lv1, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    "relax.output"(%lv2) : (tensor<2x4xf32>) -> ()
  }) : () -> tensor<2x4xf32>
  return %gv : tensor<2x4xf32>
}

// A transposition that is needed elsewhere stays there as well; other data movement is no
// transposition.
// CHECK-LABEL: func.func @shared(
// CHECK: %t = "relax.call_tir"(%w) {callee = @transpose}
// CHECK: "relax.call"(%w, %x) {callee = @fused_transpose_matmul}
// CHECK-NOT: fused
// CHECK: %r = "relax.call_tir"(%x) {callee = @reshape}
// CHECK: "relax.call_tir"({{.*}}%r) {callee = @matmul1}
func.func @shared(%x: tensor<2x8xf32> {relax.name = "x"}, %w: tensor<4x8xf32> {relax.name = "w"}) -> tuple<tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x2xf32>> attributes {relax.attrs = {}} {
  %t = "relax.permute_dims"(%w) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %m = "relax.matmul"(%x, %t) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<[8, 2], 2>
  %r = "relax.reshape"(%x, %s) : (tensor<2x8xf32>, !relax.shape<[8, 2], 2>) -> tensor<8x2xf32>
  %q = "relax.matmul"(%x, %r) : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
  %u = "relax.tuple"(%m, %t, %q) : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x2xf32>) -> tuple<tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x2xf32>>
  return %u : tuple<tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x2xf32>>
}
