// RUN: relax-opt %s --relax-gradient | FileCheck %s

// CHECK-LABEL: func.func @main_adjoint(%x: tensor<2x3xf32> {relax.name = "x"}, %w: tensor<3xf32> {relax.name = "w"}) -> tuple<tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %y = "relax.multiply"(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %z = "relax.tanh"(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %s = "relax.sum"(%z) : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: %1 = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %2 = "relax.expand_dims"(%1) {axis = array<i64: 0, 1>} : (tensor<f32>) -> tensor<1x1xf32>
// CHECK-NEXT: %3 = "relax.shape_expr"() : () -> !relax.shape<[2, 3], 2{{.*}}>
// CHECK-NEXT: %4 = "relax.broadcast_to"(%2, %3) : (tensor<1x1xf32>, !relax.shape<[2, 3], 2{{.*}}>) -> tensor<2x3xf32>
// CHECK-NEXT: %5 = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %6 = "relax.multiply"(%z, %z) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %7 = "relax.subtract"(%5, %6) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %8 = "relax.multiply"(%4, %7) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %x_adjoint = "relax.multiply"(%8, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %9 = "relax.multiply"(%8, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %10 = "relax.shape_expr"() : () -> !relax.shape<[3], 1{{.*}}>
// CHECK-NEXT: %w_adjoint = "relax.collapse_sum_to"(%9, %10) : (tensor<2x3xf32>, !relax.shape<[3], 1{{.*}}>) -> tensor<3xf32>
// CHECK-NEXT: %11 = "relax.tuple"(%x_adjoint, %w_adjoint) : (tensor<2x3xf32>, tensor<3xf32>) -> tuple<tensor<2x3xf32>, tensor<3xf32>>
// CHECK-NEXT: %12 = "relax.tuple"(%s, %11) : (tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>) -> tuple<tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>>
// CHECK-NEXT: "relax.output"(%12) : (tuple<tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>>) -> ()
// CHECK-NEXT: }) : () -> tuple<tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>>
// CHECK-NEXT: return %0 : tuple<tensor<f32>, tuple<tensor<2x3xf32>, tensor<3xf32>>>
// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32> {relax.name = "x"}, %w: tensor<3xf32> {relax.name = "w"}) -> tensor<f32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %y = "relax.multiply"(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %z = "relax.tanh"(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %s = "relax.sum"(%z) : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: "relax.output"(%s) : (tensor<f32>) -> ()
// CHECK-NEXT: }) : () -> tensor<f32>
// CHECK-NEXT: return %0 : tensor<f32>
func.func @main(%x: tensor<2x3xf32> {relax.name = "x"}, %w: tensor<3xf32> {relax.name = "w"}) -> tensor<f32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %y = "relax.multiply"(%x, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %z = "relax.tanh"(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %s = "relax.sum"(%z) : (tensor<2x3xf32>) -> tensor<f32>
    "relax.output"(%s) : (tensor<f32>) -> ()
  }) : () -> tensor<f32>
  return %0 : tensor<f32>
}
