// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4x?xf32, #relax.dims<[4, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @matmul(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4x?xf32, #relax.dims<[4, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4x?xf32, #relax.dims<[4, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %gv : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: func.func @matmul_1(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
func.func @matmul_1(%x0: tensor<4xf32>, %x1: tensor<4xf32>) -> tensor<f32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %gv : tensor<f32>
}

// CHECK-LABEL: func.func @matmul_2(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<4xf32>, tensor<5x4x6xf32>) -> tensor<5x6xf32>
func.func @matmul_2(%x0: tensor<4xf32>, %x1: tensor<5x4x6xf32>) -> tensor<5x6xf32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<4xf32>, tensor<5x4x6xf32>) -> tensor<5x6xf32>
  return %gv : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @matmul_3(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<5x6x4xf32>, tensor<4xf32>) -> tensor<5x6xf32>
func.func @matmul_3(%x0: tensor<5x6x4xf32>, %x1: tensor<4xf32>) -> tensor<5x6xf32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<5x6x4xf32>, tensor<4xf32>) -> tensor<5x6xf32>
  return %gv : tensor<5x6xf32>
}

// CHECK-LABEL: func.func @matmul_4(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<?x1x6x4xf32, #relax.dims<["n", 1, 6, 4]>>, tensor<3x4x?xf32, #relax.dims<[3, 4, "m"]>>) -> tensor<?x3x6x?xf32, #relax.dims<["n", 3, 6, "m"]>>
func.func @matmul_4(%x0: tensor<?x1x6x4xf32, #relax.dims<["n", 1, 6, 4]>>, %x1: tensor<3x4x?xf32, #relax.dims<[3, 4, "m"]>>) -> tensor<?x3x6x?xf32, #relax.dims<["n", 3, 6, "m"]>> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<?x1x6x4xf32, #relax.dims<["n", 1, 6, 4]>>, tensor<3x4x?xf32, #relax.dims<[3, 4, "m"]>>) -> tensor<?x3x6x?xf32, #relax.dims<["n", 3, 6, "m"]>>
  return %gv : tensor<?x3x6x?xf32, #relax.dims<["n", 3, 6, "m"]>>
}

// CHECK-LABEL: func.func @matmul_5(
// CHECK: "relax.matmul"(%x0, %x1) {out_dtype = "int32"} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
func.func @matmul_5(%x0: tensor<2x4xi8>, %x1: tensor<4x3xi8>) -> tensor<2x3xi32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) {out_dtype = "int32"} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return %gv : tensor<2x3xi32>
}

// CHECK-LABEL: func.func @matmul_6(
// CHECK: "relax.matmul"(%x0, %x1) : (tensor<?x?x?xf32>, tensor<4x5xf32>) -> tensor<?x?x?xf32>
func.func @matmul_6(%x0: tensor<?x?x?xf32>, %x1: tensor<4x5xf32>) -> tensor<?x?x?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.matmul"(%x0, %x1) : (tensor<?x?x?xf32>, tensor<4x5xf32>) -> tensor<?x?x?xf32>
  return %gv : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @einsum(
// CHECK: "relax.einsum"(%x0, %x1) {subscripts = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
func.func @einsum(%x0: tensor<2x3xf32>, %x1: tensor<3x4xf32>) -> tensor<2x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.einsum"(%x0, %x1) {subscripts = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %gv : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @einsum_1(
// CHECK: "relax.einsum"(%x) {subscripts = "...ij->...ji"} : (tensor<5x2x3xf32>) -> tensor<5x3x2xf32>
func.func @einsum_1(%x: tensor<5x2x3xf32>) -> tensor<5x3x2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.einsum"(%x) {subscripts = "...ij->...ji"} : (tensor<5x2x3xf32>) -> tensor<5x3x2xf32>
  return %gv : tensor<5x3x2xf32>
}

// CHECK-LABEL: func.func @einsum_2(
// CHECK: "relax.einsum"(%x) {subscripts = "ii"} : (tensor<3x3xf32>) -> tensor<f32>
func.func @einsum_2(%x: tensor<3x3xf32>) -> tensor<f32> attributes {relax.attrs = {}} {
  %gv = "relax.einsum"(%x) {subscripts = "ii"} : (tensor<3x3xf32>) -> tensor<f32>
  return %gv : tensor<f32>
}

// CHECK-LABEL: func.func @outer(
// CHECK: "relax.outer"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @outer(%x0: tensor<?xf32, #relax.dims<["n"]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.outer"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
