// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @node(%n: i32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.attr 'key': the node is one operand or the attribute 'node'}}
  "tir.attr"(%n) ({
  }) {key = "key", node = "name", operandSegmentSizes = array<i32: 1, 0>, value = 1} : (i32) -> ()
  return
}

// -----

func.func @value(%n: i32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.attr 'key': the value is one operand or the attribute 'value'}}
  "tir.attr"(%n) ({
  }) {key = "key", operandSegmentSizes = array<i32: 1, 0>} : (i32) -> ()
  return
}

// -----

func.func @body() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.attr 'key': the body must be one block without arguments}}
  "tir.attr"() ({
  ^bb0(%i: index):
  }) {key = "key", node = "a", operandSegmentSizes = array<i32: 0, 0>, value = 1} : () -> ()
  return
}

// -----

func.func @reducer(%zero: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.comm_reducer: the body takes two values for each identity}}
  %r = "tir.comm_reducer"(%zero) ({
  ^bb0(%x: f32):
    "tir.yield"(%x) : (f32) -> ()
  }) : (f32) -> !llvm.ptr
  return
}

// -----

func.func @reducer_end(%zero: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.comm_reducer: the body ends with a tir.yield}}
  %r = "tir.comm_reducer"(%zero) ({
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
  }) : (f32) -> !llvm.ptr
  return
}

// -----

func.func @reducer_results(%zero: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.comm_reducer: the tir.yield gives one value for each identity}}
  %r = "tir.comm_reducer"(%zero) ({
  ^bb0(%x: f32, %y: f32):
    "tir.yield"(%x, %y) : (f32, f32) -> ()
  }) : (f32) -> !llvm.ptr
  return
}

// -----

func.func @outside(%x: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.yield: must be directly inside a tir.comm_reducer}}
  "tir.yield"(%x) : (f32) -> ()
  return
}

// -----

func.func @reducer_result() attributes {tir.attrs = {}} {
  %zero = arith.constant 0 : i32
  // expected-error@+1 {{tir.comm_reducer: gives an !llvm.ptr, not i64}}
  %r = "tir.comm_reducer"(%zero) ({
  ^bb0(%x: i32, %y: i32):
    "tir.yield"(%x) : (i32) -> ()
  }) : (i32) -> i64
  return
}
