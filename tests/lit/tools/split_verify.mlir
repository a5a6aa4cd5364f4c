// RUN: relax-opt %s --split-input-file --verify-diagnostics
// RUN: not relax-opt %s --split-input-file 2>&1 | FileCheck %s

// Without --verify-diagnostics errors are printed as mlir-opt prints them, with the line of the
// whole file.
// CHECK: split_verify.mlir:[[#LINE:]]:9: error: relax.exp: needs a floating-point tensor, got R.Tensor((2,), "int32")
// CHECK-NEXT: {{^}}  %lv = "relax.exp"(%x)
// CHECK-NEXT: {{^}}        ^

func.func @good(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %lv = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %lv : tensor<2xf32>
}

// -----

// Our verifiers, each place an expectation can have.
func.func @same_line(%x: tensor<2xi32>) -> tensor<2xi32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.exp: needs a floating-point tensor, got R.Tensor((2,), "int32")}}
  %lv = "relax.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return %lv : tensor<2xi32>
}

// -----

func.func @below(%x: tensor<2xi32>) -> tensor<2xi32> attributes {relax.attrs = {}} {
  // expected-error-re@below {{needs a {{floating.point}} tensor}}
  %lv = "relax.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return %lv : tensor<2xi32>
}

// -----

func.func @above(%x: tensor<2xi32>) -> tensor<2xi32> attributes {relax.attrs = {}} {
  %lv = "relax.exp"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  // expected-error@above {{relax.exp}}
  return %lv : tensor<2xi32>
}

// -----

// Upstream's verifiers and parse errors, with their notes.
// expected-note@+1 {{prior use here}}
func.func @parse(%x: tensor<2xi32>) -> tensor<2xi32> {
  // expected-error@+1 {{use of value '%x' expects different type than prior uses}}
  %0 = arith.addi %x, %x : tensor<3xi32>
  return %0 : tensor<2xi32>
}
