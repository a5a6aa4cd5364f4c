// RUN: not relax-opt %s --tir-lower-calls 2>&1 | FileCheck %s

// CHECK: unknown: no code generator for the intrinsic 'ptx_mma'
func.func @unknown() attributes {tir.attrs = {}} {
  "tir.call"() {kind = "intrinsic", callee = "ptx_mma", literals = []} : () -> ()
  return
}
