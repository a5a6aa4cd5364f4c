// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %n = "tir.free_variable"() : () -> i64
// CHECK: %p = "tir.free_variable"() : () -> !llvm.ptr
// CHECK: %k = "tir.free_variable"() {dtype = "uint8"} : () -> i8
func.func @main() attributes {tir.attrs = {}} {
  %n = "tir.free_variable"() : () -> i64
  %p = "tir.free_variable"() : () -> !llvm.ptr
  %k = "tir.free_variable"() {dtype = "uint8"} : () -> i8
  return
}
