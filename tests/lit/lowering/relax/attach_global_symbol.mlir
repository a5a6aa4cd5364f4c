// RUN: relax-opt %s --relax-attach-global-symbol | FileCheck %s

// CHECK-LABEL: func.func @k(%x: memref<2xf32> {tir.name = "x"}, %y: memref<2xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
// CHECK-NEXT: "tir.for"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT: "tir.block"(%i) ({
// CHECK-NEXT: ^bb0(%vi: index):
// CHECK-NEXT: "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<2xf32>, index) -> ()
// CHECK-NEXT: "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<2xf32>, index) -> ()
// CHECK-NEXT: %0 = memref.load %x[%vi] : memref<2xf32>
// CHECK-NEXT: memref.store %0, %y[%vi] : memref<2xf32>
// CHECK-NEXT: }) {domains = array<i64: 0, 2>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "b"} : (index) -> ()
// CHECK-NEXT: }) {bounds = array<i64: 0, 2>, kind = "serial", operandSegmentSizes = array<i32: 0>} : () -> ()
// CHECK-NEXT: return
// CHECK-LABEL: func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %y = "relax.call_tir"(%x) {callee = @k} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %y : tensor<2xf32>
func.func private @k(%x: memref<2xf32> {tir.name = "x"}, %y: memref<2xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
    "tir.block"(%i) ({
    ^bb0(%vi: index):
      "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<2xf32>, index) -> ()
      "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<2xf32>, index) -> ()
      %0 = memref.load %x[%vi] : memref<2xf32>
      memref.store %0, %y[%vi] : memref<2xf32>
    }) {domains = array<i64: 0, 2>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "b"} : (index) -> ()
  }) {bounds = array<i64: 0, 2>, kind = "serial", operandSegmentSizes = array<i32: 0>} : () -> ()
  return
}
func.func private @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %y = "relax.call_tir"(%x) {callee = @k} : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
