// RUN: relax-opt %s --tir-bool-to-byte | FileCheck %s

// CHECK-LABEL: func.func @invert
// CHECK-SAME: %A: memref<8xi8> {tir.dtype = "bool", tir.name = "A"}
// CHECK-SAME: %B: memref<8xi8> {tir.dtype = "bool", tir.name = "B"}
// CHECK: %[[BYTE:.*]] = memref.load %A[%i] : memref<8xi8>
// CHECK: %[[BIT:.*]] = arith.cmpi ne, %[[BYTE]]
// CHECK: %[[NOT:.*]] = arith.xori %[[BIT]]
// CHECK: %[[OUT:.*]] = arith.extui %[[NOT]] : i1 to i8
// CHECK: memref.store %[[OUT]], %B[%i] : memref<8xi8>
func.func @invert(%A: memref<8xi1> {tir.name = "A"}, %B: memref<8xi1> {tir.name = "B"})
    attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
    %bit = memref.load %A[%i] : memref<8xi1>
    %true = arith.constant true
    %not = arith.xori %bit, %true : i1
    memref.store %not, %B[%i] : memref<8xi1>
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}
