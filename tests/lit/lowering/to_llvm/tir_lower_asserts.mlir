// RUN: relax-opt --pass-pipeline='builtin.module(tir-lower-asserts)' %s | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: ffi.may_raise
// CHECK: cf.assert %{{.*}}, "too large"
func.func @plain(%A: memref<16xf32> {tir.name = "A"}, %c: i1 {tir.name = "c"}) attributes {tir.attrs = {}} {
  cf.assert %c, "too large"
  return
}

// A parallel loop is not left: it notes that a condition failed.
// CHECK-LABEL: func.func @parallel
// CHECK: %[[FLAG:.*]] = memref.alloca() : memref<i8>
// CHECK: memref.store %{{.*}}, %[[FLAG]][]
// CHECK: scf.parallel
// CHECK-NOT: cf.assert
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[FLAG]][]
// CHECK: scf.reduce
// CHECK: %[[HELD:.*]] = arith.cmpi eq
// CHECK: cf.assert %[[HELD]], "too large"
func.func @parallel(%A: memref<16xi1> {tir.name = "A"}) attributes {tir.attrs = {}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c16) step (%c1) {
    %v = memref.load %A[%i] : memref<16xi1>
    cf.assert %v, "too large"
    scf.reduce
  }
  return
}
