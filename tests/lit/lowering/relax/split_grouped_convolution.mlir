// RUN: relax-opt %s --relax-split-grouped-convolution | FileCheck %s

// Two wide groups are two convolutions.
// CHECK-LABEL: func.func @wide
// CHECK: %[[P:.*]] = "relax.split"(%x) {{.*}}axis = 3{{.*}}indices_or_sections = 2
// CHECK-DAG: %[[A:.*]] = "relax.tuple_get_item"(%[[P]]) {{.*}}index = 0{{.*}} -> tensor<1x14x14x32xf32>
// CHECK-DAG: %[[B:.*]] = "relax.tuple_get_item"(%[[P]]) {{.*}}index = 1{{.*}} -> tensor<1x14x14x32xf32>
// CHECK-DAG: %[[C:.*]] = "relax.nn_conv2d"(%[[A]], {{.*}}tensor<3x3x32x64xf32>) -> tensor<1x14x14x64xf32>
// CHECK-DAG: %[[D:.*]] = "relax.nn_conv2d"(%[[B]], {{.*}}tensor<3x3x32x64xf32>) -> tensor<1x14x14x64xf32>
// CHECK: "relax.concat"(%[[C]], %[[D]]) {{.*}} -> tensor<1x14x14x128xf32>
func.func @wide(%x: tensor<1x14x14x64xf32> {relax.name = "x"}) -> tensor<1x14x14x128xf32> attributes {relax.attrs = {}} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x32x128xf32>} : () -> tensor<3x3x32x128xf32>
  %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64, groups = 2 : i64} : (tensor<1x14x14x64xf32>, tensor<3x3x32x128xf32>) -> tensor<1x14x14x128xf32>
  return %y : tensor<1x14x14x128xf32>
}

// Many or narrow groups stay, and those without a window.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: relax.split
// CHECK: groups = 4
// CHECK: groups = 2
func.func @narrow(%x: tensor<1x14x14x64xf32> {relax.name = "x"}) -> tensor<1x14x14x128xf32> attributes {relax.attrs = {}} {
  %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x16x64xf32>} : () -> tensor<3x3x16x64xf32>
  %v = "relax.constant"() {value = dense<1.0> : tensor<1x1x32x128xf32>} : () -> tensor<1x1x32x128xf32>
  %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64, groups = 4 : i64} : (tensor<1x14x14x64xf32>, tensor<3x3x16x64xf32>) -> tensor<1x14x14x64xf32>
  %z = "relax.nn_conv2d"(%y, %v) {data_layout = "NHWC", kernel_layout = "HWIO", groups = 2 : i64} : (tensor<1x14x14x64xf32>, tensor<1x1x32x128xf32>) -> tensor<1x14x14x128xf32>
  return %z : tensor<1x14x14x128xf32>
}
