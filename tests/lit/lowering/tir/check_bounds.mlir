// RUN: not relax-opt %s --tir-check-bounds 2>&1 | FileCheck %s

// CHECK: outside: block 'root' writes buffer 'A' outside: index 0 goes from 1 to 8, the size is 8
func.func @outside(%A: memref<8xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
    %zero = arith.constant 0.0 : f32
    %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    memref.store %zero, %A[%next] : memref<8xf32>
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}
