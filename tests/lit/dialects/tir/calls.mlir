// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @calls
// CHECK: "tir.call"(%A, %n) {{.*}}callee = "f", kind = "extern", literals = ["text", unit, unit]
// CHECK: "tir.call"(%n) {{.*}}callee = "sqrtf", kind = "pure_extern", literals = [unit]
// CHECK: "tir.call"(%A) {buffer_dtypes = ["uint8"], callee = "g", kind = "packed"
// CHECK: "tir.call"() {callee = "tvm_storage_sync", kind = "intrinsic", literals = ["shared"]
func.func @calls(%A: memref<8xi8> {tir.dtype = "uint8", tir.name = "A"}, %n: f32 {tir.name = "n"})
    attributes {tir.attrs = {}} {
  "tir.call"(%A, %n) {callee = "f", kind = "extern", literals = ["text", unit, unit]}
      : (memref<8xi8>, f32) -> ()
  %0 = "tir.call"(%n) {callee = "sqrtf", kind = "pure_extern", literals = [unit]} : (f32) -> f32
  %1 = "tir.call"(%A) {callee = "g", kind = "packed", literals = [unit], buffer_dtypes = ["uint8"]}
      : (memref<8xi8>) -> i32
  "tir.call"() {callee = "tvm_storage_sync", kind = "intrinsic", literals = ["shared"]} : () -> ()
  return
}
