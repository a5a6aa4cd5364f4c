// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @where(
// CHECK: "relax.where"(%x0, %x1, %x2) : (tensor<?x1xi1, #relax.dims<["n", 1]>>, tensor<4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @where(%x0: tensor<?x1xi1, #relax.dims<["n", 1]>>, %x1: tensor<4xf32>, %x2: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.where"(%x0, %x1, %x2) : (tensor<?x1xi1, #relax.dims<["n", 1]>>, tensor<4xf32>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: "relax.argmax"(%x) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xi64, #relax.dims<["n"]>>
func.func @argmax(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xi64, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.argmax"(%x) {axis = 1 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xi64, #relax.dims<["n"]>>
  return %gv : tensor<?xi64, #relax.dims<["n"]>>
}

// CHECK-LABEL: func.func @argmin(
// CHECK: "relax.argmin"(%x) {keepdims = true} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<1x1xi64>
func.func @argmin(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<1x1xi64> attributes {relax.attrs = {}} {
  %gv = "relax.argmin"(%x) {keepdims = true} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<1x1xi64>
  return %gv : tensor<1x1xi64>
}

// CHECK-LABEL: func.func @bucketize(
// CHECK: "relax.bucketize"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<9xf32>) -> tensor<?x4xi64, #relax.dims<["n", 4]>>
func.func @bucketize(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<9xf32>) -> tensor<?x4xi64, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.bucketize"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<9xf32>) -> tensor<?x4xi64, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi64, #relax.dims<["n", 4]>>
}
