// RUN: relax-opt %s | FileCheck %s
// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CLEAN

// Loops, blocks, regions and buffers print with the program's names and parse back.

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %A: memref<?x784xf32> {tir.name = "A", tir.shape = ["n", 784]}
// CHECK: %Y = "tir.alloc_buffer"(%n)
// CHECK-SAME: scope = "global"
// CHECK: "tir.for"(%n) ({
// CHECK: ^bb0(%i: index):
// CHECK: "tir.block"(%i, %j, %k, %n) ({
// CHECK: ^bb0(%vi: index, %vj: index, %vk: index):
// CHECK: "tir.read"(%A, %vi, %vk)
// CHECK: "tir.write"(%Y, %vi, %vj)
// CHECK: "tir.init"() ({
// CHECK: domains = array<i64: 0, -9223372036854775808, 0, 10, 0, 784>
// CHECK-SAME: iter_kinds = ["S", "S", "R"]
// CHECK-SAME: sym_name = "Y"
// CHECK: kind = "parallel"

// Effects are unknown to MLIR, so cleaning up keeps every loop and block.
// CLEAN-LABEL: func.func @matmul
// CLEAN-COUNT-4: "tir.for"
func.func @matmul(%A: memref<?x784xf32> {tir.name = "A", tir.shape = ["n", 784]},
                  %B: memref<784x10xf32> {tir.name = "B"},
                  %C: memref<?x10xf32> {tir.name = "C", tir.shape = ["n", 10]})
    attributes {tir.attrs = {tir.noalias = true}} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x784xf32>
  %Y = "tir.alloc_buffer"(%n) {scope = "global"} : (index) -> memref<?x10xf32>
  "tir.for"(%n) ({
  ^bb0(%i: index):
    "tir.for"() ({
    ^bb0(%j: index):
      "tir.for"() ({
      ^bb0(%k: index):
        "tir.block"(%i, %j, %k, %n) ({
        ^bb0(%vi: index, %vj: index, %vk: index):
          "tir.read"(%A, %vi, %vk) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, sizes = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<?x784xf32>, index, index) -> ()
          "tir.write"(%Y, %vi, %vj) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, sizes = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<?x10xf32>, index, index) -> ()
          "tir.init"() ({
            %zero = arith.constant 0.0 : f32
            memref.store %zero, %Y[%vi, %vj] : memref<?x10xf32>
          }) : () -> ()
          %y = memref.load %Y[%vi, %vj] : memref<?x10xf32>
          %a = memref.load %A[%vi, %vk] : memref<?x784xf32>
          %b = memref.load %B[%vk, %vj] : memref<784x10xf32>
          %product = arith.mulf %a, %b : f32
          %sum = arith.addf %y, %product : f32
          memref.store %sum, %Y[%vi, %vj] : memref<?x10xf32>
        }) {domains = array<i64: 0, -9223372036854775808, 0, 10, 0, 784>, iter_kinds = ["S", "S", "R"], operandSegmentSizes = array<i32: 3, 1, 0>, sym_name = "Y"} : (index, index, index, index) -> ()
      }) {bounds = array<i64: 0, 784>, kind = "serial"} : () -> ()
    }) {bounds = array<i64: 0, 10>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, -9223372036854775808>, kind = "parallel"} : (index) -> ()
  "tir.for"() ({
  ^bb0(%tx: index):
    %v = memref.load %Y[%tx, %tx] : memref<?x10xf32>
    memref.store %v, %C[%tx, %tx] : memref<?x10xf32>
  }) {bounds = array<i64: 0, 8>, kind = "thread_binding", thread = "threadIdx.x"} : () -> ()
  return
}
