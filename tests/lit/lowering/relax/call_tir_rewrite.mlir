// RUN: relax-opt %s --relax-call-tir-rewrite | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %a = "relax.builtin_alloc_tensor"(%{{.*}}) {dtype = "float32"} : (!relax.shape<[4], 1 : i64>) -> tensor<4xf32>
// CHECK: "relax.call"(%x, %a) {callee = @double} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
// CHECK: %b = "relax.builtin_alloc_tensor"
// CHECK: "relax.call_packed"(%a, %b) {callee = "f"} : (tensor<4xf32>, tensor<4xf32>) -> tuple<>
// CHECK: "relax.call"(%b) {callee = @bump} : (tensor<4xf32>) -> tuple<>
// CHECK: return %b
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %a = "relax.call_tir"(%x) {callee = @double} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.call_dps_packed"(%a) {callee = "f"} : (tensor<4xf32>) -> tensor<4xf32>
  %c = "relax.call_tir_inplace"(%b) {callee = @bump, inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

// Values of symbols go with the call.
// CHECK-LABEL: func.func @sized(
// CHECK: "relax.vm_call_tir_dyn"(%x, %a, %s) {callee = @add_n}
func.func @sized(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<["n"], 1 : i64>
  %a = "relax.call_tir"(%x, %s) {callee = @add_n} : (tensor<?xf32, #relax.dims<["n"]>>, !relax.shape<["n"], 1 : i64>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %a : tensor<?xf32, #relax.dims<["n"]>>
}
func.func private @double(%A: memref<4xf32> {tir.name = "A"}, %B: memref<4xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  return
}
func.func private @bump(%A: memref<4xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  return
}
func.func private @add_n(%A: memref<?xf32> {tir.name = "A", tir.shape = ["n"]}, %B: memref<?xf32> {tir.name = "B", tir.shape = ["n"]}, %n: i64 {tir.name = "n"}) attributes {tir.attrs = {}} {
  return
}
