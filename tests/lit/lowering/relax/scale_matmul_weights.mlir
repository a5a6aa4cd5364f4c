// RUN: relax-opt %s --relax-scale-matmul-weights | FileCheck %s

// What squeeze-and-excitation makes of an image scales the rows of the weight that follows.
// CHECK-LABEL: func.func @excited
// CHECK: %[[FACTORS:.*]] = "relax.reshape"(%s, %{{.*}}) {{.*}} -> tensor<16x1xf32>
// CHECK: %[[SCALED:.*]] = "relax.multiply"(%[[FACTORS]], %w) {{.*}} -> tensor<16x8xf32>
// CHECK: %{{.*}} = "relax.matmul"(%x, %[[SCALED]])
// CHECK-NOT: relax.multiply
func.func @excited(%x: tensor<1x14x14x16xf32> {relax.name = "x"}, %s: tensor<1x1x1x16xf32> {relax.name = "s"}, %w: tensor<16x8xf32> {relax.name = "w"}) -> tensor<1x14x14x8xf32> attributes {relax.attrs = {}} {
  %0 = "relax.multiply"(%s, %x) : (tensor<1x1x1x16xf32>, tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %1 = "relax.matmul"(%0, %w) : (tensor<1x14x14x16xf32>, tensor<16x8xf32>) -> tensor<1x14x14x8xf32>
  return %1 : tensor<1x14x14x8xf32>
}

// Few rows: the weight would be the larger of the two.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[PRODUCT:.*]] = "relax.multiply"(%x, %s)
// CHECK: "relax.matmul"(%[[PRODUCT]], %w)
func.func @few_rows(%x: tensor<1x3x5x16xf32> {relax.name = "x"}, %s: tensor<16xf32> {relax.name = "s"}, %w: tensor<16x8xf32> {relax.name = "w"}) -> tensor<1x3x5x8xf32> attributes {relax.attrs = {}} {
  %0 = "relax.multiply"(%x, %s) : (tensor<1x3x5x16xf32>, tensor<16xf32>) -> tensor<1x3x5x16xf32>
  %1 = "relax.matmul"(%0, %w) : (tensor<1x3x5x16xf32>, tensor<16x8xf32>) -> tensor<1x3x5x8xf32>
  return %1 : tensor<1x3x5x8xf32>
}

// Factors of each image, and a product that something else needs, stay.
// CHECK-LABEL: func.func @each_image
// CHECK: %[[PRODUCT:.*]] = "relax.multiply"(%x, %s)
// CHECK: "relax.matmul"(%[[PRODUCT]], %w)
func.func @each_image(%x: tensor<2x14x14x16xf32> {relax.name = "x"}, %s: tensor<2x1x1x16xf32> {relax.name = "s"}, %w: tensor<16x8xf32> {relax.name = "w"}) -> tensor<2x14x14x8xf32> attributes {relax.attrs = {}} {
  %0 = "relax.multiply"(%x, %s) : (tensor<2x14x14x16xf32>, tensor<2x1x1x16xf32>) -> tensor<2x14x14x16xf32>
  %1 = "relax.matmul"(%0, %w) : (tensor<2x14x14x16xf32>, tensor<16x8xf32>) -> tensor<2x14x14x8xf32>
  return %1 : tensor<2x14x14x8xf32>
}

// CHECK-LABEL: func.func @used_twice
// CHECK: %[[PRODUCT:.*]] = "relax.multiply"(%x, %s)
// CHECK: "relax.matmul"(%[[PRODUCT]], %w)
func.func @used_twice(%x: tensor<196x16xf32> {relax.name = "x"}, %s: tensor<1x16xf32> {relax.name = "s"}, %w: tensor<16x16xf32> {relax.name = "w"}) -> tensor<196x16xf32> attributes {relax.attrs = {}} {
  %0 = "relax.multiply"(%x, %s) : (tensor<196x16xf32>, tensor<1x16xf32>) -> tensor<196x16xf32>
  %1 = "relax.matmul"(%0, %w) : (tensor<196x16xf32>, tensor<16x16xf32>) -> tensor<196x16xf32>
  %2 = "relax.add"(%0, %1) : (tensor<196x16xf32>, tensor<196x16xf32>) -> tensor<196x16xf32>
  return %2 : tensor<196x16xf32>
}
