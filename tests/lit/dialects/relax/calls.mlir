// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %a = "relax.call_inplace_packed"(%x, %y) {callee = "f", inplace_indices = array<i64: 1, -1>}
// CHECK: "relax.call_tir_with_grad"(%x) {callee = @double, te_grad_kwargs = {k = 2.000000e+00 : f64}, te_grad_name = "grad"}
// CHECK: "relax.call_builtin_with_ctx"(%x) {callee = "vm.builtin.copy"}
// CHECK: "relax.call_py_func"(%x) {callee = "python"}
// CHECK: "relax.vm_call_tir_dyn"(%x, %y, %s) {callee = @double}
func.func @main(%x: tensor<2xf32> {relax.name = "x"}, %y: tensor<2xf32> {relax.name = "y"}) -> tensor<2xf32>
    attributes {relax.attrs = {}, relax.pure = false} {
  %a = "relax.call_inplace_packed"(%x, %y) {callee = "f", inplace_indices = array<i64: 1, -1>} : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<3xf32>>
  %b = "relax.call_tir_with_grad"(%x) {callee = @double, te_grad_kwargs = {k = 2.0 : f64}, te_grad_name = "grad"} : (tensor<2xf32>) -> tensor<2xf32>
  %c = "relax.call_builtin_with_ctx"(%x) {callee = "vm.builtin.copy"} : (tensor<2xf32>) -> tensor<2xf32>
  %d = "relax.call_py_func"(%x) {callee = "python"} : (tensor<2xf32>) -> tensor<2xf32>
  %s = "relax.shape_expr"() : () -> !relax.shape<[2 : i64], 1 : i64>
  %e = "relax.vm_call_tir_dyn"(%x, %y, %s) {callee = @double} : (tensor<2xf32>, tensor<2xf32>, !relax.shape<[2 : i64], 1 : i64>) -> tuple<>
  return %d : tensor<2xf32>
}
func.func private @double(%A: memref<2xf32> {tir.name = "A"}, %B: memref<2xf32> {tir.name = "B"}) attributes {tir.attrs = {}} {
  return
}
