// RUN: relax-opt %s --pass-pipeline='builtin.module(convert-scf-to-openmp,omp-private-allocations,canonicalize)' | FileCheck %s

// A thread allocates once, at its start; the heap is used as it is written.
// CHECK-LABEL: func.func @rows
// CHECK: omp.parallel
// CHECK-NEXT: %[[T:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT: omp.wsloop
// CHECK: omp.loop_nest
// CHECK-NOT: memref.alloca_scope
// CHECK: %[[H:.*]] = memref.alloc() : memref<4xf32>
// CHECK: memref.dealloc %[[H]]
func.func @rows(%A: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %t = memref.alloca() : memref<4xf32>
    %h = memref.alloc() : memref<4xf32>
    %x = memref.load %A[%i, %c0] : memref<8x4xf32>
    memref.store %x, %t[%c0] : memref<4xf32>
    %y = memref.load %t[%c0] : memref<4xf32>
    memref.store %y, %h[%c0] : memref<4xf32>
    %z = memref.load %h[%c0] : memref<4xf32>
    memref.store %z, %A[%i, %c1] : memref<8x4xf32>
    memref.dealloc %h : memref<4xf32>
  }
  return
}
