// RUN: relax-opt --pass-pipeline='builtin.module(cf-assert-to-error)' %s | FileCheck %s

// CHECK-LABEL: func.func @checked
// CHECK: cf.cond_br %{{.*}}, ^[[ON:bb[0-9]+]], ^[[OUT:bb[0-9]+]]
// CHECK-DAG: llvm.call @TVMFFIErrorSetRaisedFromCStr
// CHECK-DAG: memref.store
// CHECK-NOT: cf.assert
func.func @checked(%A: memref<1xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  cf.assert %c, "too large"
  memref.store %v, %A[%c0] : memref<1xf32>
  return
}

// A number is returned in any case.
// CHECK-LABEL: func.func @returns
// CHECK: llvm.call @TVMFFIErrorSetRaisedFromCStr
// CHECK: arith.constant 0 : i32
// CHECK: return
func.func @returns(%c: i1, %n: i32) -> i32 {
  cf.assert %c, "too large"
  return %n : i32
}
