// RUN: relax-opt %s --memref-check-allocations | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME: ffi.may_raise
// CHECK: %[[SMALL:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[BYTES:.*]] = arith.index_cast
// CHECK: %[[THERE:.*]] = llvm.call @relax_ffi_reserve(%[[BYTES]])
// CHECK: scf.if %[[THERE]]
// CHECK: memref.alloc(%n) : memref<?xf32>
// CHECK: memref.store
// CHECK: return
func.func @sum(%A: memref<4xf32> {tir.name = "A"}, %n: index {tir.name = "n"}) attributes {tir.attrs = {}} {
  %zero = arith.constant 0 : index
  %small = memref.alloc() : memref<4xf32>
  %large = memref.alloc(%n) : memref<?xf32>
  %x = memref.load %A[%zero] : memref<4xf32>
  memref.store %x, %small[%zero] : memref<4xf32>
  memref.store %x, %large[%zero] : memref<?xf32>
  return
}
