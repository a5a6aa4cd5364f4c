// RUN: relax-opt %s --relax-to-host | FileCheck %s

// Constants are read through a table, whose keys the module lists.
// CHECK: module attributes {relax.constant_table = ["const_{{[0-9a-f]+}}"]}

// CHECK: func.func private @relu__kernel
func.func private @relu(%x: memref<?x4xf32> {tir.name = "x", tir.shape = ["m", 4 : i64]}, %y: memref<?x4xf32> {tir.name = "y", tir.shape = ["m", 4 : i64]}) attributes {tir.attrs = {}} {
  return
}

// Relax functions are replaced by host functions.
// CHECK-NOT: @main(

// The workspace holds one temporary: its size is computed from n, and it is freed at the exit.
// CHECK-LABEL: func.func @__tvm_ffi_main(
// CHECK: llvm.call @relax_ffi_is_compact
// CHECK: arith.muli
// CHECK: llvm.call @relax_ffi_take_workspace
// CHECK: call @relu__kernel
// The result is a new tensor object, and the second kernel writes into it.
// CHECK: llvm.call @relax_ffi_new_tensor
// CHECK: call @relu__kernel
// CHECK: llvm.call @relax_ffi_release
// CHECK: llvm.call @relax_ffi_give_workspace
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4 : i64]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4 : i64]>> attributes {relax.attrs = {}} {
  %a = "relax.call_tir"(%x) {callee = @relu} : (tensor<?x4xf32, #relax.dims<["n", 4 : i64]>>) -> tensor<?x4xf32, #relax.dims<["n", 4 : i64]>>
  %b = "relax.call_tir"(%a) {callee = @relu} : (tensor<?x4xf32, #relax.dims<["n", 4 : i64]>>) -> tensor<?x4xf32, #relax.dims<["n", 4 : i64]>>
  return %b : tensor<?x4xf32, #relax.dims<["n", 4 : i64]>>
}

// A registered function is called by name with tensor objects.
// CHECK-LABEL: func.func @__tvm_ffi_packed(
// CHECK: llvm.call @relax_ffi_new_tensor
// CHECK: llvm.call @relax_ffi_call_global
// CHECK-NOT: relax_ffi_take_workspace
func.func @packed(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %r = "relax.call_dps_packed"(%x) {callee = "env.relu"} : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @__tvm_ffi_constant(
// CHECK: llvm.mlir.addressof @__relax_constants
// CHECK: llvm.call @relax_ffi_own
func.func @constant() -> tensor<2xf32> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  return %c : tensor<2xf32>
}

// CHECK-LABEL: func.func @__tvm_ffi___relax_set_constants(
