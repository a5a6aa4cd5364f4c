// RUN: relax-opt %s --relax-to-host | FileCheck %s

func.func private @relu(%x: memref<?x4xf32> {tir.name = "x", tir.shape = ["n", 4 : i64]}, %y: memref<?x4xf32> {tir.name = "y", tir.shape = ["n", 4 : i64]}) attributes {tir.attrs = {}} {
  return
}

// The memory of %a leaves, under another shape: the object that has it is kept by the view.
// CHECK-LABEL: func.func @__tvm_ffi_view(
// CHECK: llvm.call @relax_ffi_new_tensor
// CHECK: call @relu__kernel
// CHECK-NOT: llvm.call @memcpy
// CHECK: llvm.call @relax_ffi_new_view
func.func @view(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["n * 4"]>> attributes {relax.attrs = {}} {
  %a = "relax.call_tir"(%x) {callee = @relu} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %s = "relax.shape_expr"() : () -> !relax.shape<["n * 4"], 1 : i64>
  %b = "relax.reshape"(%a, %s) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<["n * 4"], 1 : i64>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
  return %b : tensor<?xf32, #relax.dims<["n * 4"]>>
}

// The caller's tensor stays the caller's: what leaves is a copy.
// CHECK-LABEL: func.func @__tvm_ffi_of_parameter(
// CHECK-NOT: llvm.call @relax_ffi_new_view
// CHECK: llvm.call @memcpy
func.func @of_parameter(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["n * 4"]>> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<["n * 4"], 1 : i64>
  %b = "relax.reshape"(%x, %s) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<["n * 4"], 1 : i64>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
  return %b : tensor<?xf32, #relax.dims<["n * 4"]>>
}
