// RUN: relax-opt %s --relax-canonicalize-bindings --cse --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: relax-opt %s --relax-canonicalize-bindings --cse --mlir-print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-canonicalize-bindings,func.func(cse,canonicalize))" --mlir-print-ir-after=cse -o %t 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: relax-opt %s --relax-canonicalize-bindings --cse --mlir-timing -o %t 2>&1 | FileCheck %s --check-prefix=TIMING

// Upstream prints ours by class and by pipeline name.
// ALL: IR Dump After CanonicalizeBindings: relax-canonicalize-bindings
// ALL: IR Dump After CSEPass: cse
// BEFORE: IR Dump Before CanonicalizeBindings: relax-canonicalize-bindings
// BEFORE: relax.bind
// BEFORE: IR Dump Before CSEPass: cse

// ONE-NOT: IR Dump After relax-canonicalize-bindings
// ONE: IR Dump After cse
// ONE: %a = "relax.exp"(%x)
// ONE-NOT: IR Dump After canonicalize

// TIMING: Execution time report
// TIMING-DAG: CanonicalizeBindings
// TIMING-DAG: CSE
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = "relax.bind"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
