// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @main() attributes {tir.attrs = {}} {
  // expected-error@+1 {{tir.free_variable: a variable is a scalar, not memref<4xf32>}}
  %n = "tir.free_variable"() : () -> memref<4xf32>
  return
}
