// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @data(%n: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.buffer_data: takes a memref, not f32}}
  %p = "tir.buffer_data"(%n) : (f32) -> !llvm.ptr
  return
}

// -----

func.func @data_result(%A: memref<8xf32>) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.buffer_data: gives an !llvm.ptr, not i64}}
  %p = "tir.buffer_data"(%A) : (memref<8xf32>) -> i64
  return
}

// -----

func.func @address(%A: memref<8x8xf32>, %i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.address_of: one index a dimension of memref<8x8xf32>, 1 given}}
  %p = "tir.address_of"(%A, %i) : (memref<8x8xf32>, index) -> !llvm.ptr
  return
}

// -----

func.func @address_result(%A: memref<8xf32>, %i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.address_of: gives an !llvm.ptr, not f32}}
  %p = "tir.address_of"(%A, %i) : (memref<8xf32>, index) -> f32
  return
}

// -----

func.func @storage(%A: memref<8xf32>) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.decl_buffer: takes an !llvm.ptr, not memref<8xf32>}}
  %B = "tir.decl_buffer"(%A) {scope = "global"} : (memref<8xf32>) -> memref<4xf32>
  return
}

// -----

func.func @sizes(%p: !llvm.ptr) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.decl_buffer: memref<?xf32> has 1 dynamic sizes, 0 given}}
  %B = "tir.decl_buffer"(%p) {scope = "global"} : (!llvm.ptr) -> memref<?xf32>
  return
}

// -----

func.func @constants() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.alloc_const: tensor<3xi8> does not fill memref<4xi8>}}
  %C = "tir.alloc_const"() {value = dense<[1, 2, 3]> : tensor<3xi8>} : () -> memref<4xi8>
  return
}

// -----

func.func @declared(%p: !llvm.ptr) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.decl_buffer: makes a memref, not f32}}
  %B = "tir.decl_buffer"(%p) {scope = "global"} : (!llvm.ptr) -> f32
  return
}

// -----

func.func @constant_result() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.alloc_const: makes a memref, not i8}}
  %C = "tir.alloc_const"() {value = dense<[1, 2, 3]> : tensor<3xi8>} : () -> i8
  return
}
