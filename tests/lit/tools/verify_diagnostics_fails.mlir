// RUN: not relax-opt %s --split-input-file --verify-diagnostics 2>&1 | FileCheck %s

// CHECK: verify_diagnostics_fails.mlir:4:1: error: expected error "never said" was not produced
// expected-error@+1 {{never said}}
func.func @fine() {
  return
}

// -----

func.func @bad(%x: tensor<2xi32>) -> tensor<2xi32> attributes {relax.attrs = {}} {
  // CHECK: verify_diagnostics_fails.mlir:13:9: error: unexpected error: relax.exp: needs
  %lv = "relax.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return %lv : tensor<2xi32>
}
