// RUN: relax-opt %s --tir-to-scf | FileCheck %s

// Loops become scf loops, a block its body, an initialisation a branch at the first step.
// CHECK-LABEL: func.func @matmul
// CHECK: scf.for %i
// CHECK: scf.for %j
// CHECK: scf.for %k
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %k
// CHECK: scf.if %[[FIRST]]
// CHECK: memref.store %zero, %C[%i, %j]
// CHECK: memref.load %A[%i, %k]
// CHECK-NOT: tir.for
func.func @matmul(%A: memref<4x8xf32> {tir.name = "A"}, %B: memref<8x16xf32> {tir.name = "B"}, %C: memref<4x16xf32> {tir.name = "C"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.for"() ({
  ^bb0(%j: index):
"tir.for"() ({
  ^bb0(%k: index):
"tir.block"(%i, %j, %k) ({
  ^bb0(%vi: index, %vj: index, %vk: index):
    "tir.init"() ({
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %C[%vi, %vj] : memref<4x16xf32>
    }) : () -> ()
    %c = memref.load %C[%vi, %vj] : memref<4x16xf32>
    %a = memref.load %A[%vi, %vk] : memref<4x8xf32>
    %b = memref.load %B[%vk, %vj] : memref<8x16xf32>
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    memref.store %sum, %C[%vi, %vj] : memref<4x16xf32>
  }) {domains = array<i64: 0, 4, 0, 16, 0, 8>, iter_kinds = ["S", "S", "R"], operandSegmentSizes = array<i32: 3, 0, 0>, sym_name = "C"} : (index, index, index) -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 16>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}

// Parallel loops stay parallel and keep their buffers; threads run one after the other.
// CHECK-LABEL: func.func @threads
// CHECK: scf.parallel
// CHECK: %L = memref.alloc() : memref<4xf32>
// CHECK: scf.for %tx
func.func @threads(%X: memref<8x4xf32> {tir.name = "X"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
  %L = "tir.alloc_buffer"() {scope = "local"} : () -> memref<4xf32>
  "tir.for"() ({
  ^bb0(%tx: index):
    %x = memref.load %X[%i, %tx] : memref<8x4xf32>
    memref.store %x, %L[%tx] : memref<4xf32>
  }) {bounds = array<i64: 0, 4>, kind = "thread_binding", thread = "threadIdx.x"} : () -> ()
  }) {bounds = array<i64: 0, 8>, kind = "parallel"} : () -> ()
  return
}
