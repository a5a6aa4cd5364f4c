// RUN: not relax-opt %s --relax-fuse-op 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --pass-pipeline="builtin.module(func.func(relax-fuse-ops))" 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not relax-opt %s --relax-fuse-ops=depth=3 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not relax-opt %s --relax-fuse-ops=max-fuse-depth=x 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not relax-opt %s --pass-pipeline="builtin.module(cse" 2>&1 | FileCheck %s --check-prefix=BRACKET
// RUN: not relax-opt %s --pass-pipeline=cse --cse 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not relax-opt %s.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not relax-opt %s --relax-bind-params=file=missing.npz --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | FileCheck %s --check-prefix=PASS
// RUN: FileCheck %s --check-prefix=REPRODUCER < %t
// RUN: not relax-opt --run-reproducer %t 2>&1 | FileCheck %s --check-prefix=PASS

// UNKNOWN: error: there is no pass 'relax-fuse-op'
// UNKNOWN-NEXT: hint: did you mean {{.*}}relax-fuse-ops
// NESTED: error: pass 'relax-fuse-ops' runs on the module, it cannot be nested in 'func.func(...)'
// OPTION: error: pass 'relax-fuse-ops' has no option 'depth'
// OPTION-NEXT: hint: options: fuse-opt-level, max-fuse-depth
// VALUE: error: pass 'relax-fuse-ops', option 'max-fuse-depth': 'x' is no int
// BRACKET: error: pipeline 'builtin.module(cse': a bracket or quote is not closed
// BOTH: --pass-pipeline cannot be combined with passes given as flags
// MISSING: error: cannot open input file
// PASS: error: pass 'relax-bind-params' failed: cannot read parameters from 'missing.npz'
// REPRODUCER: // configuration: --pass-pipeline='builtin.module(relax-bind-params{func-name=main file=missing.npz})'
// REPRODUCER-NEXT: module {
// REPRODUCER-NEXT: func.func @main
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  return %x : tensor<2xf32>
}
