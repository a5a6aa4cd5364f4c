// RUN: relax-opt %s --relax-specialize-prim-func-based-on-call-site | FileCheck %s

// CHECK-LABEL: func.func private @copy1(%x: memref<4xf32> {tir.name = "x", tir.scope = "global.texture"}, %y: memref<4xf32> {tir.name = "y"}) attributes {tir.attrs = {scoped = 1 : i64}} {
// CHECK-NEXT: "tir.for"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT: "tir.block"(%i) ({
// CHECK-NEXT: ^bb0(%vi: index):
// CHECK-NEXT: "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: %0 = memref.load %x[%vi] : memref<4xf32>
// CHECK-NEXT: memref.store %0, %y[%vi] : memref<4xf32>
// CHECK-NEXT: }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "b"} : (index) -> ()
// CHECK-NEXT: }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @copy(%x: memref<4xf32> {tir.name = "x"}, %y: memref<4xf32> {tir.name = "y", tir.scope = "global.texture"}) attributes {tir.attrs = {scoped = 1 : i64}} {
// CHECK-NEXT: "tir.for"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT: "tir.block"(%i) ({
// CHECK-NEXT: ^bb0(%vi: index):
// CHECK-NEXT: "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: %0 = memref.load %x[%vi] : memref<4xf32>
// CHECK-NEXT: memref.store %0, %y[%vi] : memref<4xf32>
// CHECK-NEXT: }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "b"} : (index) -> ()
// CHECK-NEXT: }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
// CHECK-NEXT: return
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %lv = "relax.call_tir"(%x) {callee = @copy} : (tensor<4xf32>) -> tensor<4xf32, #relax.placed<[4], ["vdevice", "opencl:0:global.texture"]>>
// CHECK-NEXT: %lv1 = "relax.call_tir"(%lv) {callee = @copy1} : (tensor<4xf32, #relax.placed<[4], ["vdevice", "opencl:0:global.texture"]>>) -> tensor<4xf32>
// CHECK-NEXT: return %lv1 : tensor<4xf32>
func.func private @copy(%x: memref<4xf32> {tir.name = "x"}, %y: memref<4xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
    "tir.block"(%i) ({
    ^bb0(%vi: index):
      "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
      "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
      %0 = memref.load %x[%vi] : memref<4xf32>
      memref.store %0, %y[%vi] : memref<4xf32>
    }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "b"} : (index) -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %lv = "relax.call_tir"(%x) {callee = @copy} : (tensor<4xf32>) -> tensor<4xf32, #relax.placed<[4], ["vdevice", "opencl:0:global.texture"]>>
  %lv1 = "relax.call_tir"(%lv) {callee = @copy} : (tensor<4xf32, #relax.placed<[4], ["vdevice", "opencl:0:global.texture"]>>) -> tensor<4xf32>
  return %lv1 : tensor<4xf32>
}
