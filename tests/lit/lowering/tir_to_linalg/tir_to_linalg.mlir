// RUN: relax-opt %s --tir-to-linalg | FileCheck %s

// A reduction with an initialisation becomes a fill and a generic.
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1) -> (d0 + d1)>
// CHECK-LABEL: func.func @matmul
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%C : memref<4x16xf32>)
// CHECK: linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%A, %B : memref<4x8xf32>, memref<8x16xf32>) outs(%C : memref<4x16xf32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: linalg.yield
// CHECK-NOT: "tir.
// CHECK: return
func.func @matmul(%A: memref<4x8xf32> {tir.name = "A"}, %B: memref<8x16xf32> {tir.name = "B"}, %C: memref<4x16xf32> {tir.name = "C"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.for"() ({
  ^bb0(%j: index):
"tir.for"() ({
  ^bb0(%k: index):
"tir.block"(%i, %j, %k) ({
  ^bb0(%vi: index, %vj: index, %vk: index):
    "tir.init"() ({
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %C[%vi, %vj] : memref<4x16xf32>
    }) : () -> ()
    %c = memref.load %C[%vi, %vj] : memref<4x16xf32>
    %a = memref.load %A[%vi, %vk] : memref<4x8xf32>
    %b = memref.load %B[%vk, %vj] : memref<8x16xf32>
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    memref.store %sum, %C[%vi, %vj] : memref<4x16xf32>
  }) {domains = array<i64: 0, 4, 0, 16, 0, 8>, iter_kinds = ["S", "S", "R"], operandSegmentSizes = array<i32: 3, 0, 0>, sym_name = "C"} : (index, index, index) -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 16>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}

// Loops in another order than the iteration variables are kept as they are written.
// CHECK-LABEL: func.func @reordered
// CHECK-NOT: linalg
// CHECK-COUNT-3: "tir.for"
func.func @reordered(%A: memref<4x8xf32> {tir.name = "A"}, %B: memref<8x16xf32> {tir.name = "B"}, %C: memref<4x16xf32> {tir.name = "C"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.for"() ({
  ^bb0(%k: index):
"tir.for"() ({
  ^bb0(%j: index):
"tir.block"(%i, %j, %k) ({
  ^bb0(%vi: index, %vj: index, %vk: index):
    "tir.init"() ({
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %C[%vi, %vj] : memref<4x16xf32>
    }) : () -> ()
    %c = memref.load %C[%vi, %vj] : memref<4x16xf32>
    %a = memref.load %A[%vi, %vk] : memref<4x8xf32>
    %b = memref.load %B[%vk, %vj] : memref<8x16xf32>
    %product = arith.mulf %a, %b : f32
    %sum = arith.addf %c, %product : f32
    memref.store %sum, %C[%vi, %vj] : memref<4x16xf32>
  }) {domains = array<i64: 0, 4, 0, 16, 0, 8>, iter_kinds = ["S", "S", "R"], operandSegmentSizes = array<i32: 3, 0, 0>, sym_name = "C"} : (index, index, index) -> ()
  }) {bounds = array<i64: 0, 16>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}

// Indices used as data become linalg.index; a window is an affine map.
// CHECK-LABEL: func.func @window
// CHECK: linalg.generic
// CHECK-SAME: #[[WINDOW]]
// CHECK: linalg.index 0
func.func @window(%X: memref<10xf32> {tir.name = "X"}, %W: memref<3xf32> {tir.name = "W"}, %Y: memref<8xf32> {tir.name = "Y"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.for"() ({
  ^bb0(%k: index):
"tir.block"(%i, %k) ({
  ^bb0(%vi: index, %vk: index):
    %p = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%vi, %vk)
    %y = memref.load %Y[%vi] : memref<8xf32>
    %x = memref.load %X[%p] : memref<10xf32>
    %w = memref.load %W[%vk] : memref<3xf32>
    %n = arith.index_cast %vi : index to i32
    %f = arith.sitofp %n : i32 to f32
    %t = arith.mulf %x, %w : f32
    %u = arith.mulf %t, %f : f32
    %s = arith.addf %y, %u : f32
    memref.store %s, %Y[%vi] : memref<8xf32>
  }) {domains = array<i64: 0, 8, 0, 3>, iter_kinds = ["S", "R"], operandSegmentSizes = array<i32: 2, 0, 0>, sym_name = "Y"} : (index, index) -> ()
  }) {bounds = array<i64: 0, 3>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}

// A loop over a part of a buffer is an operation on a subview.
// CHECK-LABEL: func.func @part
// CHECK: %[[part:.*]] = memref.subview %X[0] [8] [1]
// CHECK: linalg.generic {{.*}} ins(%[[part]] : {{.*}}) outs(%Y : memref<8xf32>)
func.func @part(%X: memref<10xf32> {tir.name = "X"}, %Y: memref<8xf32> {tir.name = "Y"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.block"(%i) ({
  ^bb0(%vi: index):
    %x = memref.load %X[%vi] : memref<10xf32>
    memref.store %x, %Y[%vi] : memref<8xf32>
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "Y"} : (index) -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}

// Reading another element of the buffer being written is order-dependent and stays.
// CHECK-LABEL: func.func @scan
// CHECK-NOT: linalg
// CHECK: "tir.for"
func.func @scan(%X: memref<8xf32> {tir.name = "X"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.block"(%i) ({
  ^bb0(%vi: index):
    %p = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%vi)
    %x = memref.load %X[%p] : memref<8xf32>
    memref.store %x, %X[%vi] : memref<8xf32>
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "X"} : (index) -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}

// A choice between two sources is one operation a source.
// CHECK-LABEL: func.func @concatenate
// CHECK: %[[low:.*]] = memref.subview %Z[0] [3] [1]
// CHECK: linalg.generic {{.*}} ins(%X : memref<3xf32>) outs(%[[low]]
// CHECK: %[[high:.*]] = memref.subview %Z[3] [5] [1]
// CHECK: linalg.generic {{.*}} ins(%Y : memref<5xf32>) outs(%[[high]]
func.func @concatenate(%X: memref<3xf32> {tir.name = "X"}, %Y: memref<5xf32> {tir.name = "Y"}, %Z: memref<8xf32> {tir.name = "Z"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
"tir.block"(%i) ({
  ^bb0(%vi: index):
    %three = arith.constant 3 : index
    %second = arith.cmpi sle, %three, %vi : index
    %z = scf.if %second -> (f32) {
      %p = affine.apply affine_map<(d0) -> (d0 - 3)>(%vi)
      %y = memref.load %Y[%p] : memref<5xf32>
      scf.yield %y : f32
    } else {
      %x = memref.load %X[%vi] : memref<3xf32>
      scf.yield %x : f32
    }
    memref.store %z, %Z[%vi] : memref<8xf32>
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "Z"} : (index) -> ()
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}

// A gather of rows is a loop over the rows with an operation on each.
// CHECK-LABEL: func.func @gather
// CHECK: scf.for %[[i:.*]] =
// CHECK: %[[row:.*]] = memref.load %I[%[[i]]]
// CHECK: memref.subview %X[%[[row]], 0] [1, 16] [1, 1]
// CHECK: memref.subview %Y[%[[i]], 0] [1, 16] [1, 1]
// CHECK: linalg.generic
func.func @gather(%X: memref<9x16xf32> {tir.name = "X"}, %I: memref<4xindex> {tir.name = "I"}, %Y: memref<4x16xf32> {tir.name = "Y"}) attributes {tir.attrs = {}} {
  "tir.for"() ({
  ^bb0(%i: index):
  "tir.for"() ({
  ^bb0(%j: index):
"tir.block"(%i, %j) ({
  ^bb0(%vi: index, %vj: index):
    %r = memref.load %I[%vi] : memref<4xindex>
    %x = memref.load %X[%r, %vj] : memref<9x16xf32>
    memref.store %x, %Y[%vi, %vj] : memref<4x16xf32>
  }) {domains = array<i64: 0, 4, 0, 16>, iter_kinds = ["S", "S"], operandSegmentSizes = array<i32: 2, 0, 0>, sym_name = "Y"} : (index, index) -> ()
  }) {bounds = array<i64: 0, 16>, kind = "serial"} : () -> ()
  }) {bounds = array<i64: 0, 4>, kind = "serial"} : () -> ()
  return
}

// Extents that are maxima or minima of sizes are those of the buffers too.
// CHECK-LABEL: func.func @maximum
// CHECK-NOT: tir.for
// CHECK: linalg.generic
func.func @maximum(%A: memref<?x8xf32> {tir.name = "A", tir.shape = ["max(0, n - 3)", 8], tir.shape_dtype = "int64"}, %C: memref<?x8xf32> {tir.name = "C", tir.shape = ["max(0, n - 3)", 8], tir.shape_dtype = "int64"}, %n: i64 {tir.name = "n"}) attributes {tir.attrs = {tir.noalias = true}} {
  %c0 = arith.constant 0 : index
  %0 = arith.index_cast %n : i64 to index
  %1 = affine.apply affine_map<(d0) -> (d0 - 3)>(%0)
  %2 = arith.maxsi %c0, %1 : index
  "tir.for"(%2) ({
  ^bb0(%i: index):
    "tir.for"() ({
    ^bb0(%j: index):
      %c0_0 = arith.constant 0 : index
      %3 = arith.index_cast %n : i64 to index
      %4 = affine.apply affine_map<(d0) -> (d0 - 3)>(%3)
      %5 = arith.maxsi %c0_0, %4 : index
      "tir.block"(%i, %j, %5) ({
      ^bb0(%vi: index, %vj: index):
        "tir.read"(%A, %vi, %vj) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<?x8xf32>, index, index) -> ()
        "tir.write"(%C, %vi, %vj) {offsets = array<i64: -9223372036854775808, -9223372036854775808>, operandSegmentSizes = array<i32: 1, 2, 0>, sizes = array<i64: 1, 1>} : (memref<?x8xf32>, index, index) -> ()
        %6 = memref.load %A[%vi, %vj] : memref<?x8xf32>
        %cst = arith.constant 1.000000e+00 : f32
        %7 = arith.addf %6, %cst : f32
        memref.store %7, %C[%vi, %vj] : memref<?x8xf32>
      }) {domains = array<i64: 0, -9223372036854775808, 0, 8>, iter_dtype = "int64", iter_kinds = ["S", "S"], operandSegmentSizes = array<i32: 2, 1, 0>, sym_name = "x"} : (index, index, index) -> ()
    }) {bounds = array<i64: 0, 8>, kind = "serial", operandSegmentSizes = array<i32: 0>} : () -> ()
  }) {bounds = array<i64: 0, -9223372036854775808>, dtype = "int64", kind = "serial", operandSegmentSizes = array<i32: 1>} : (index) -> ()
  return
}
