// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: "relax.extern_func"() {callee = "g"} : () -> !relax.callable
func.func @main() -> !relax.callable attributes {relax.attrs = {}} {
  %g = "relax.extern_func"() {callee = "g"} : () -> !relax.callable
  return %g : !relax.callable
}
