// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @vision_roi_align(
// CHECK: "relax.vision_roi_align"(%x0, %x1)
func.func @vision_roi_align(%x0: tensor<2x3x9x9xf32>, %x1: tensor<5x5xf32>) -> tensor<5x3x2x2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.vision_roi_align"(%x0, %x1) {pooled_size = [2, 2], spatial_scale = 0.5} : (tensor<2x3x9x9xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  return %gv : tensor<5x3x2x2xf32>
}

// CHECK-LABEL: func.func @vision_roi_pool(
// CHECK: "relax.vision_roi_pool"(%x0, %x1)
func.func @vision_roi_pool(%x0: tensor<2x3x9x9xf32>, %x1: tensor<5x5xf32>) -> tensor<5x3x2x2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.vision_roi_pool"(%x0, %x1) {pooled_size = [2, 2], spatial_scale = 0.5} : (tensor<2x3x9x9xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  return %gv : tensor<5x3x2x2xf32>
}

// CHECK-LABEL: func.func @vision_get_valid_counts(
// CHECK: "relax.vision_get_valid_counts"(%x0)
func.func @vision_get_valid_counts(%x0: tensor<2x7x6xf32>) -> tuple<tensor<2xi32>, tensor<2x7x6xf32>, tensor<2x7xi32>> attributes {relax.attrs = {}} {
  %gv = "relax.vision_get_valid_counts"(%x0) : (tensor<2x7x6xf32>) -> tuple<tensor<2xi32>, tensor<2x7x6xf32>, tensor<2x7xi32>>
  return %gv : tuple<tensor<2xi32>, tensor<2x7x6xf32>, tensor<2x7xi32>>
}

// CHECK-LABEL: func.func @vision_non_max_suppression(
// CHECK: "relax.vision_non_max_suppression"(%x0, %x1, %x2)
func.func @vision_non_max_suppression(%x0: tensor<2x7x6xf32>, %x1: tensor<2xi32>, %x2: tensor<2x7xi32>) -> tuple<tensor<2x7xi32>, tensor<2x1xi32>> attributes {relax.attrs = {}} {
  %gv = "relax.vision_non_max_suppression"(%x0, %x1, %x2) : (tensor<2x7x6xf32>, tensor<2xi32>, tensor<2x7xi32>) -> tuple<tensor<2x7xi32>, tensor<2x1xi32>>
  return %gv : tuple<tensor<2x7xi32>, tensor<2x1xi32>>
}
