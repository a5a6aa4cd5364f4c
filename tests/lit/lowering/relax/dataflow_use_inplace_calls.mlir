// RUN: relax-opt %s --relax-dataflow-use-inplace-calls | FileCheck %s

// The operand that is made in the block and used last is written over; parameters are not.
// CHECK: func.func private @relu_inplace(%{{.*}}: memref<4xf32> {{.*}}) attributes
// CHECK-LABEL: func.func @main(
// CHECK: %a = "relax.call_tir"(%x, %x) {callee = @add}
// CHECK: %b = "relax.call_tir_inplace"(%a) {callee = @relu_inplace, inplace_indices = array<i64: 0>}
// CHECK: %c = "relax.call_tir"(%b) {callee = @relu}
// CHECK: %d = "relax.call_tir_inplace"(%b, %c) {callee = @add_inplace, inplace_indices = array<i64: 0>}
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %a = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = "relax.nn_relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = "relax.nn_relu"(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %d = "relax.add"(%b, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%d) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %gv : tensor<4xf32>
}
