// RUN: relax-opt %s --relax-legalize-ops --relax-annotate-tir-op-pattern | FileCheck %s

// One function of every kind; the numbers are TVM's OpPatternKind.
// Elementwise: 0.  A bias added to every row leaves the other operand's elements in place: also 0.
// CHECK-DAG: func.func private @tir_exp({{.*}}op_pattern = 0 : i64
// CHECK-DAG: func.func private @add({{.*}}op_pattern = 0 : i64
// Broadcast: 1.
// CHECK-DAG: func.func private @broadcast_to({{.*}}op_pattern = 1 : i64
// Injective: 2.
// CHECK-DAG: func.func private @transpose({{.*}}op_pattern = 2 : i64
// Reductions: 3.
// CHECK-DAG: func.func private @sum({{.*}}op_pattern = 3 : i64
// Matmul takes an elementwise epilogue: 4.  So does softmax, a reduction used at every element.
// CHECK-DAG: func.func private @matmul({{.*}}op_pattern = 4 : i64
// CHECK-DAG: func.func private @softmax({{.*}}op_pattern = 4 : i64
// What the analysis does not know is opaque: 8.
// CHECK-DAG: func.func private @opaque({{.*}}op_pattern = 8 : i64
// A pattern that is there already stays.
// CHECK-DAG: func.func private @given({{.*}}op_pattern = 2 : i64
func.func private @opaque(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  %c0 = arith.constant 0 : index
  %0 = memref.load %A[%c0] : memref<4xf32>
  memref.store %0, %B[%c0] : memref<4xf32>
  return
}
func.func private @given(%A: memref<4xf32> {tir.name = "A"}) attributes {tir.attrs = {op_pattern = 2}} {
  return
}
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}, %w: tensor<8x4xf32> {relax.name = "w"}, %b: tensor<8xf32> {relax.name = "b"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %lv = "relax.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %lv1 = "relax.add"(%lv, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %lv2 = "relax.permute_dims"(%lv1) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %lv3 = "relax.sum"(%lv2) {axis = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %shape = "relax.shape_expr"() : () -> !relax.shape<[4, 8], 2>
  %lv4 = "relax.broadcast_to"(%lv3, %shape) : (tensor<8xf32>, !relax.shape<[4, 8], 2>) -> tensor<4x8xf32>
  %lv5 = "relax.nn_softmax"(%lv4) {axis = -1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %lv6 = "relax.matmul"(%lv5, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %lv6 : tensor<4x4xf32>
}
