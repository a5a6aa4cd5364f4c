// RUN: %python -c "import numpy; numpy.savez('%t.npz', w=numpy.arange(6, dtype='float32').reshape(2, 3))"
// RUN: relax-opt %s --relax-bind-params=file=%t.npz | FileCheck %s
// RUN: not relax-opt %s --relax-bind-params="func-name=other file=%t.npz" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not relax-opt %s --relax-bind-params="func-name=scalar file=%t.npz" 2>&1 | FileCheck %s --check-prefix=TYPE

// FUNCTION: there is no Relax function 'other' to bind parameters of
// TYPE: parameter 'w' is R.Tensor((3, 3), "float32"), the array is R.Tensor((2, 3), "float32"): dimension 0 is 3 and 2

// The parameter is a constant now, and the symbol of its shape is known everywhere.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %x: tensor<4x2xf32> {relax.name = "x"}) -> tensor<4x3xf32>
// CHECK-NEXT: %w = "relax.constant"() {value = dense<{{\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00]
// CHECK-NEXT: %gv = "relax.matmul"(%x, %w) : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
func.func @main(%x: tensor<4x?xf32, #relax.dims<[4, "k"]>> {relax.name = "x"}, %w: tensor<?x3xf32, #relax.dims<["k", 3]>> {relax.name = "w"}) -> tensor<4x3xf32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x, %w) : (tensor<4x?xf32, #relax.dims<[4, "k"]>>, tensor<?x3xf32, #relax.dims<["k", 3]>>) -> tensor<4x3xf32>
  return %gv : tensor<4x3xf32>
}
func.func @scalar(%w: tensor<3x3xf32> {relax.name = "w"}) -> tensor<3x3xf32> attributes {relax.attrs = {}} {
  return %w : tensor<3x3xf32>
}
