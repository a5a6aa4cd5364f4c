// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scopes
// CHECK: "tir.attr"(%p, %n) ({
// CHECK: }) {key = "storage_alignment", operandSegmentSizes = array<i32: 1, 1>}
// CHECK: %sum = "tir.comm_reducer"(%zero) ({
// CHECK: ^bb0(%x: f32, %y: f32):
// CHECK: "tir.yield"(%0) : (f32) -> ()
// CHECK: "tir.attr"(%sum) ({
// CHECK: }) {key = "reduce_scope", operandSegmentSizes = array<i32: 1, 0>, value = 0 : i64}
func.func @scopes(%p: !llvm.ptr {tir.name = "p"}, %n: i32 {tir.name = "n"})
    attributes {tir.attrs = {}} {
  %zero = arith.constant 0.0 : f32
  "tir.attr"(%p, %n) ({
  }) {key = "storage_alignment", operandSegmentSizes = array<i32: 1, 1>} : (!llvm.ptr, i32) -> ()
  %sum = "tir.comm_reducer"(%zero) ({
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
    "tir.yield"(%0) : (f32) -> ()
  }) : (f32) -> !llvm.ptr
  "tir.attr"(%sum) ({
  }) {key = "reduce_scope", operandSegmentSizes = array<i32: 1, 0>, value = 0 : i64} : (!llvm.ptr) -> ()
  return
}
