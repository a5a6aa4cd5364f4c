// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @indices(%s: memref<64x64xf16>, %i: index) {
  // expected-error@+1 {{tir.matrix_descriptor: one index a dimension of memref<64x64xf16>, 1 given}}
  %d = "tir.matrix_descriptor"(%s, %i) {leading = 16 : i64, stride = 1024 : i64}
      : (memref<64x64xf16>, index) -> i64
  return
}

// -----

func.func @element(%s: memref<64xf32>, %i: index) {
  // expected-error@+1 {{tir.matrix_descriptor: reads elements of 16 bits, not f32}}
  %d = "tir.matrix_descriptor"(%s, %i) {leading = 16 : i64, stride = 1024 : i64}
      : (memref<64xf32>, index) -> i64
  return
}

// -----

func.func @result(%s: memref<64xf16>, %i: index) {
  // expected-error@+1 {{tir.matrix_descriptor: gives an i64, not i32}}
  %d = "tir.matrix_descriptor"(%s, %i) {leading = 16 : i64, stride = 1024 : i64}
      : (memref<64xf16>, index) -> i32
  return
}
