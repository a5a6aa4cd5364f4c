// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @kind() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.call @f: kind 'indirect' is none of extern, pure_extern, packed, intrinsic, function}}
  "tir.call"() {callee = "f", kind = "indirect", literals = []} : () -> ()
  return
}

// -----

func.func @literals(%n: f32) attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.call @f: literals leave room for 0 operands, not for the given ones}}
  "tir.call"(%n) {callee = "f", kind = "extern", literals = ["text"]} : (f32) -> ()
  return
}

// -----

func.func @results() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.call @f: at most one result}}
  %0:2 = "tir.call"() {callee = "f", kind = "extern", literals = []} : () -> (i32, i32)
  return
}
