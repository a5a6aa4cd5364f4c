// RUN: relax-opt %s --relax-dead-code-elimination | FileCheck %s
// RUN: relax-opt %s --relax-dead-code-elimination="entry-functions=kept_by_option" | FileCheck %s --check-prefix=ENTRY
// RUN: not relax-opt %s --relax-dead-code-elimination="entry-functions=nothing" 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: pass 'relax-dead-code-elimination' failed: there is no function 'nothing' to keep

// ENTRY: @kept_by_option

// Functions that no public function reaches are removed, through other functions too.
// CHECK-NOT: @kept_by_option
// CHECK-NOT: @unused
// CHECK: func.func private @kernel(
// CHECK-NOT: @only_used_by_unused
func.func private @kernel(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  return
}
func.func private @only_used_by_unused(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  return
}
func.func private @unused(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %y = "relax.call_tir"(%x) {callee = @only_used_by_unused} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @kept_by_option(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  return %x : tensor<4xf32>
}

// Bindings without use go, with what only they used; calls with effects stay.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %lv = "relax.call_tir"(%x) {callee = @kernel}
// CHECK-NEXT: "relax.output"(%lv)
// CHECK-NEXT: }) : () -> tensor<4xf32>
// CHECK-NEXT: "relax.call_packed"
// CHECK-NEXT: "relax.call"(%gv) {callee = @effect}
// CHECK-NEXT: return %gv
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv:2 = "relax.dataflow"() ({
    %lv = "relax.call_tir"(%x) {callee = @kernel} : (tensor<4xf32>) -> tensor<4xf32>
    %dead = "relax.exp"(%lv) : (tensor<4xf32>) -> tensor<4xf32>
    %dead1 = "relax.exp"(%dead) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%lv, %dead1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : () -> (tensor<4xf32>, tensor<4xf32>)
  %s = "relax.call_packed"(%gv#0) {callee = "print"} : (tensor<4xf32>) -> !relax.object
  %e = "relax.call"(%gv#0) {callee = @effect} : (tensor<4xf32>) -> tensor<4xf32>
  %p = "relax.call"(%gv#0) {callee = @pure} : (tensor<4xf32>) -> tensor<4xf32>
  return %gv#0 : tensor<4xf32>
}
func.func @effect(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}, relax.pure = false} {
  return %x : tensor<4xf32>
}
func.func @pure(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  return %x : tensor<4xf32>
}
