// RUN: relax-opt %s --relax-split-layout-rewrite-preproc | FileCheck %s

// CHECK-LABEL: func.func private @f_weight_prepack(%w: memref<4xf32> {tir.name = "w"}, %p: memref<2x2xf32> {tir.name = "p"}) attributes {tir.attrs = {}} {
// CHECK-NEXT: "tir.for"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT: "tir.block"(%i) ({
// CHECK-NEXT: ^bb0(%vi: index):
// CHECK-NEXT: %a = affine.apply #map(%vi)
// CHECK-NEXT: %b = affine.apply #map1(%vi)
// CHECK-NEXT: "tir.read"(%w, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: "tir.write"(%p, %a, %b) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<2x2xf32>, index, index) -> ()
// CHECK-NEXT: %0 = memref.load %w[%vi] : memref<4xf32>
// CHECK-NEXT: memref.store %0, %p[%a, %b] : memref<2x2xf32>
// CHECK-NEXT: }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "pack"} : (index) -> ()
// CHECK-NEXT: }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @f_prepacked(%x: memref<4xf32> {tir.name = "x"}, %p: memref<2x2xf32> {tir.name = "p"}, %y: memref<4xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
// CHECK-NEXT: "tir.for"() ({
// CHECK-NEXT: ^bb0(%i: index):
// CHECK-NEXT: "tir.block"(%i) ({
// CHECK-NEXT: ^bb0(%vi: index):
// CHECK-NEXT: %a = affine.apply #map(%vi)
// CHECK-NEXT: %b = affine.apply #map1(%vi)
// CHECK-NEXT: "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: "tir.read"(%p, %a, %b) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<2x2xf32>, index, index) -> ()
// CHECK-NEXT: "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
// CHECK-NEXT: %0 = memref.load %x[%vi] : memref<4xf32>
// CHECK-NEXT: %1 = memref.load %p[%a, %b] : memref<2x2xf32>
// CHECK-NEXT: %2 = arith.mulf %0, %1 : f32
// CHECK-NEXT: memref.store %2, %y[%vi] : memref<4xf32>
// CHECK-NEXT: }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "multiply"} : (index) -> ()
// CHECK-NEXT: }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
// CHECK-NEXT: return
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %w: tensor<4xf32> {relax.name = "w"}) -> tensor<4xf32> attributes {relax.attrs = {num_input = 1 : i64}} {
// CHECK-NEXT: %0 = "relax.call_tir"(%w) {callee = @f_weight_prepack} : (tensor<4xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: %gv = "relax.call_tir"(%x, %0) {callee = @f_prepacked} : (tensor<4xf32>, tensor<2x2xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %gv : tensor<4xf32>
func.func private @f(%x: memref<4xf32> {tir.name = "x"}, %w: memref<4xf32> {tir.name = "w"}, %y: memref<4xf32> {tir.name = "y"}) attributes {tir.attrs = {layout_free_buffers = array<i64: 1>}} {
  %p = "tir.alloc_buffer"() {scope = "global"} : () -> memref<2x2xf32>
  "tir.for"() ({
  ^bb0(%i: index):
    "tir.block"(%i) ({
    ^bb0(%vi: index):
      %a = affine.apply affine_map<(d0) -> (d0 mod 2)>(%vi)
      %b = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%vi)
      "tir.read"(%w, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
      "tir.write"(%p, %a, %b) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<2x2xf32>, index, index) -> ()
      %0 = memref.load %w[%vi] : memref<4xf32>
      memref.store %0, %p[%a, %b] : memref<2x2xf32>
    }) {annotations = {meta_schedule.layout_rewrite_preproc = true}, domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "pack"} : (index) -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  "tir.for"() ({
  ^bb0(%i: index):
    "tir.block"(%i) ({
    ^bb0(%vi: index):
      %a = affine.apply affine_map<(d0) -> (d0 mod 2)>(%vi)
      %b = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%vi)
      "tir.read"(%x, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
      "tir.read"(%p, %a, %b) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<2x2xf32>, index, index) -> ()
      "tir.write"(%y, %vi) {offsets = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>, sizes = array<i64: 1>} : (memref<4xf32>, index) -> ()
      %0 = memref.load %x[%vi] : memref<4xf32>
      %1 = memref.load %p[%a, %b] : memref<2x2xf32>
      %2 = arith.mulf %0, %1 : f32
      memref.store %2, %y[%vi] : memref<4xf32>
    }) {domains = array<i64: 0, 4>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "multiply"} : (index) -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}
func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %w: tensor<4xf32> {relax.name = "w"}) -> tensor<4xf32> attributes {relax.attrs = {num_input = 1 : i64}} {
  %gv = "relax.call_tir"(%x, %w) {callee = @f} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %gv : tensor<4xf32>
}
