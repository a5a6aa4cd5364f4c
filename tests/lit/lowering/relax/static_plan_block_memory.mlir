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

// Tensors that are allocated by operations share storage; what is returned has its own.
// CHECK-LABEL: func.func @allocated(
// CHECK: %storage = "relax.memory_alloc_storage"
// CHECK: %a = "relax.memory_alloc_tensor"(%storage,
// CHECK: %storage1 = "relax.memory_alloc_storage"
// CHECK: %b = "relax.memory_alloc_tensor"(%storage1,
// CHECK: %c = "relax.memory_alloc_tensor"(%storage,
// CHECK: %d = "relax.builtin_alloc_tensor"
func.func @allocated(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<[4], 1 : i64>
  %a = "relax.builtin_alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %0 = "relax.call"(%x, %a) {callee = @double_it} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
  %b = "relax.builtin_alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %1 = "relax.call"(%a, %b) {callee = @double_it} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
  %c = "relax.builtin_alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %2 = "relax.call"(%b, %c) {callee = @double_it} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
  %d = "relax.builtin_alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %3 = "relax.call"(%c, %d) {callee = @double_it} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
  return %d : tensor<4xf32>
}
func.func private @double_it(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  return
}
