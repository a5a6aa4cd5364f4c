// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @main() -> tensor<4xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.extern_func: a function is no tensor<4xf32>}}
  %g = "relax.extern_func"() {callee = "g"} : () -> tensor<4xf32>
  return %g : tensor<4xf32>
}
