// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @kind() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.for: kind 'random' is none of serial, parallel, vectorized, unrolled, thread_binding}}
  "tir.for"() ({
  ^bb0(%i: index):
  }) {bounds = array<i64: 0, 8>, kind = "random"} : () -> ()
  return
}

// -----

func.func @thread() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.for: a thread_binding loop, and only it, names its thread}}
  "tir.for"() ({
  ^bb0(%i: index):
  }) {bounds = array<i64: 0, 8>, kind = "thread_binding"} : () -> ()
  return
}

// -----

func.func @loop_argument() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.for: the body must be one block with one index argument}}
  "tir.for"() ({
  ^bb0(%i: i32):
  }) {bounds = array<i64: 0, 8>, kind = "serial"} : () -> ()
  return
}

// -----

func.func @bindings(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: 2 iteration variables, 1 bindings}}
  "tir.block"(%i) ({
  ^bb0(%vi: index, %vj: index):
  }) {domains = array<i64: 0, 8, 0, 8>, iter_kinds = ["S", "S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @iteration_kind(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: iteration kind 'X' is none of S, R, O, D}}
  "tir.block"(%i) ({
  ^bb0(%vi: index):
  }) {domains = array<i64: 0, 8>, iter_kinds = ["X"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @init_outside() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.init: must be directly inside a tir.block}}
  "tir.init"() ({
  }) : () -> ()
  return
}

// -----

func.func @region(%A: memref<4x4xf32>, %i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.read: one offset and size a dimension}}
  "tir.read"(%A, %i) {offsets = array<i64: -9223372036854775808>, sizes = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4x4xf32>, index) -> ()
  return
}

// -----

func.func @sizes() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.alloc_buffer: memref<?xf32> has 1 dynamic sizes, 0 given}}
  %a = "tir.alloc_buffer"() {scope = "global"} : () -> memref<?xf32>
  return
}

// -----

func.func @bounds() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.for: bounds must be [min, extent]}}
  "tir.for"() ({
  ^bb0(%i: index):
  }) {bounds = array<i64: 0, 8, 2>, kind = "serial"} : () -> ()
  return
}

// -----

func.func @bounds_type(%n: i32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.for: bounds must be of index type}}
  "tir.for"(%n) ({
  ^bb0(%i: index):
  }) {bounds = array<i64: 0, -9223372036854775808>, kind = "serial"} : (i32) -> ()
  return
}

// -----

func.func @domains(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: domains must hold a [min, extent] pair for each variable}}
  "tir.block"(%i) ({
  ^bb0(%vi: index):
  }) {domains = array<i64: 0>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @predicates(%i: index, %p: i1) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: at most one predicate}}
  "tir.block"(%i, %p, %p) ({
  ^bb0(%vi: index):
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 2>, sym_name = "B"} : (index, i1, i1) -> ()
  return
}

// -----

func.func @body(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: the body must be one block}}
  "tir.block"(%i) ({
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @arguments(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: 1 iteration kinds, 2 arguments}}
  "tir.block"(%i) ({
  ^bb0(%vi: index, %vj: index):
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @inits(%i: index) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.block @B: at most one tir.init}}
  "tir.block"(%i) ({
  ^bb0(%vi: index):
    "tir.init"() ({
    }) : () -> ()
    "tir.init"() ({
    }) : () -> ()
  }) {domains = array<i64: 0, 8>, iter_kinds = ["S"], operandSegmentSizes = array<i32: 1, 0, 0>, sym_name = "B"} : (index) -> ()
  return
}

// -----

func.func @allocation() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.alloc_buffer: makes a memref, not f32}}
  %A = "tir.alloc_buffer"() {scope = "global"} : () -> f32
  return
}
