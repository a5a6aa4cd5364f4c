// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @image_affine_grid(
// CHECK: "relax.image_affine_grid"(%x0, %x1) : (tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>, !relax.shape<[4, 5], 2 : i64>) -> tensor<?x2x4x5xf32, #relax.dims<["n", 2, 4, 5]>>
func.func @image_affine_grid(%x0: tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>, %x1: !relax.shape<[4, 5], 2 : i64>) -> tensor<?x2x4x5xf32, #relax.dims<["n", 2, 4, 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.image_affine_grid"(%x0, %x1) : (tensor<?x2x3xf32, #relax.dims<["n", 2, 3]>>, !relax.shape<[4, 5], 2 : i64>) -> tensor<?x2x4x5xf32, #relax.dims<["n", 2, 4, 5]>>
  return %gv : tensor<?x2x4x5xf32, #relax.dims<["n", 2, 4, 5]>>
}

// CHECK-LABEL: func.func @image_grid_sample(
// CHECK: "relax.image_grid_sample"(%x0, %x1) : (tensor<?x3x4x5xf32, #relax.dims<["n", 3, 4, 5]>>, tensor<?x2x6x7xf32, #relax.dims<["n", 2, 6, 7]>>) -> tensor<?x3x6x7xf32, #relax.dims<["n", 3, 6, 7]>>
func.func @image_grid_sample(%x0: tensor<?x3x4x5xf32, #relax.dims<["n", 3, 4, 5]>>, %x1: tensor<?x2x6x7xf32, #relax.dims<["n", 2, 6, 7]>>) -> tensor<?x3x6x7xf32, #relax.dims<["n", 3, 6, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.image_grid_sample"(%x0, %x1) : (tensor<?x3x4x5xf32, #relax.dims<["n", 3, 4, 5]>>, tensor<?x2x6x7xf32, #relax.dims<["n", 2, 6, 7]>>) -> tensor<?x3x6x7xf32, #relax.dims<["n", 3, 6, 7]>>
  return %gv : tensor<?x3x6x7xf32, #relax.dims<["n", 3, 6, 7]>>
}

// CHECK-LABEL: func.func @image_resize2d(
// CHECK: "relax.image_resize2d"(%x0, %x1) : (tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>, !relax.shape<[6, 7], 2 : i64>) -> tensor<?x8x6x7xf32, #relax.dims<["n", 8, 6, 7]>>
func.func @image_resize2d(%x0: tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>, %x1: !relax.shape<[6, 7], 2 : i64>) -> tensor<?x8x6x7xf32, #relax.dims<["n", 8, 6, 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.image_resize2d"(%x0, %x1) : (tensor<?x8x3x3xf32, #relax.dims<["n", 8, 3, 3]>>, !relax.shape<[6, 7], 2 : i64>) -> tensor<?x8x6x7xf32, #relax.dims<["n", 8, 6, 7]>>
  return %gv : tensor<?x8x6x7xf32, #relax.dims<["n", 8, 6, 7]>>
}

// CHECK-LABEL: func.func @image_resize3d(
// CHECK: "relax.image_resize3d"(%x0, %x1) : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>, !relax.shape<[3, 4, 5], 3 : i64>) -> tensor<?x4x3x4x5xf32, #relax.dims<["n", 4, 3, 4, 5]>>
func.func @image_resize3d(%x0: tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>, %x1: !relax.shape<[3, 4, 5], 3 : i64>) -> tensor<?x4x3x4x5xf32, #relax.dims<["n", 4, 3, 4, 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.image_resize3d"(%x0, %x1) : (tensor<?x4x9x9x9xf32, #relax.dims<["n", 4, 9, 9, 9]>>, !relax.shape<[3, 4, 5], 3 : i64>) -> tensor<?x4x3x4x5xf32, #relax.dims<["n", 4, 3, 4, 5]>>
  return %gv : tensor<?x4x3x4x5xf32, #relax.dims<["n", 4, 3, 4, 5]>>
}
