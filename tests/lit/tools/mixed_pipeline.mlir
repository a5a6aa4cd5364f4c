// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-canonicalize-bindings,func.func(cse,canonicalize),relax-dead-code-elimination{entry-functions=helper})" | FileCheck %s
// RUN: relax-opt %s --relax-canonicalize-bindings --cse --canonicalize | FileCheck %s
// RUN: relax-opt - -cse -o %t < %s
// RUN: FileCheck %s --check-prefix=CSE < %t
// RUN: relax-opt %s --cse --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: relax-opt %s --cse --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: relax-opt %s --verify-roundtrip | relax-opt | FileCheck %s --check-prefix=PLAIN
// RUN: relax-opt %s --relax-zero --dump-pass-pipeline -o %t 2>&1 | FileCheck %s --check-prefix=ZERO

// A pipeline of ours and upstream's passes runs as one; names survive.
// CHECK-LABEL: func.func private @helper
// CHECK-LABEL: func.func @main(%x: tensor<2xf32>
// CHECK-NEXT: %a = "relax.exp"(%x)
// CHECK-NEXT: %c = "relax.add"(%a, %a)
// CHECK-NEXT: return %c

// CSE: %d = "relax.bind"(%c)
// GENERIC: "func.func"()
// LOC: loc(#loc
// PLAIN: %b = "relax.exp"(%x)

// A named pipeline stands for its passes.
// ZERO: builtin.module(relax-remove-vdevice,relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fold-constant,relax-fuse-ops,relax-fuse-tir)
func.func private @helper(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %a = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %d = "relax.bind"(%c) : (tensor<2xf32>) -> tensor<2xf32>
  %dead = "relax.sin"(%d) : (tensor<2xf32>) -> tensor<2xf32>
  return %d : tensor<2xf32>
}
