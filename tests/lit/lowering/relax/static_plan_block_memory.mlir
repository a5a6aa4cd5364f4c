// RUN: relax-opt %s --relax-static-plan-block-memory | FileCheck %s

func.func private @copy(%A: memref<?xf32> {tir.name = "A", tir.shape = ["n"]}, %B: memref<?xf32> {tir.name = "B", tir.shape = ["n"]}) attributes {tir.attrs = {}} {
  return
}

// Two temporaries are alive at a time: the third takes the place of the first.  The result is a
// tensor of its own.
// CHECK-LABEL: func.func @fixed(
// CHECK-SAME: relax.memory_plan = {static_bytes = 1024 : i64, tokens = {{.*}}, unshared_bytes = "1536"}
// CHECK-NEXT: %a = "relax.call_tir"(%x) {callee = @copy, relax.places = [0]}
// CHECK-NEXT: %b = "relax.call_tir"(%a) {callee = @copy, relax.places = [512]}
// CHECK-NEXT: %c = "relax.call_tir"(%b) {callee = @copy, relax.places = [0]}
// CHECK-NEXT: %d = "relax.call_tir"(%c) {callee = @copy} :
func.func @fixed(%x: tensor<128xf32> {relax.name = "x"}) -> tensor<128xf32> attributes {relax.attrs = {}} {
  %a = "relax.call_tir"(%x) {callee = @copy} : (tensor<128xf32>) -> tensor<128xf32>
  %b = "relax.call_tir"(%a) {callee = @copy} : (tensor<128xf32>) -> tensor<128xf32>
  %c = "relax.call_tir"(%b) {callee = @copy} : (tensor<128xf32>) -> tensor<128xf32>
  %d = "relax.call_tir"(%c) {callee = @copy} : (tensor<128xf32>) -> tensor<128xf32>
  return %d : tensor<128xf32>
}

// Sizes with symbols get tokens, [token, offset]; equal sizes share them.
// CHECK-LABEL: func.func @symbolic(
// CHECK-SAME: tokens = ["n * 4", "n * 4"], unshared_bytes = "n * 12"
// CHECK-NEXT: %a = {{.*}} relax.places = [array<i64: 0, 0>]
// CHECK-NEXT: %b = {{.*}} relax.places = [array<i64: 1, 0>]
// CHECK-NEXT: %c = {{.*}} relax.places = [array<i64: 0, 0>]
func.func @symbolic(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %a = "relax.call_tir"(%x) {callee = @copy} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %b = "relax.call_tir"(%a) {callee = @copy} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %c = "relax.call_tir"(%b) {callee = @copy} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  %d = "relax.call_tir"(%c) {callee = @copy} : (tensor<?xf32, #relax.dims<["n"]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %d : tensor<?xf32, #relax.dims<["n"]>>
}
