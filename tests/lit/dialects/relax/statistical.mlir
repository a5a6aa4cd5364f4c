// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @max(
// CHECK: "relax.max"(%x) {keepdims = true} : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<1x1xi32>
func.func @max(%x: tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<1x1xi32> attributes {relax.attrs = {}} {
  %gv = "relax.max"(%x) {keepdims = true} : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<1x1xi32>
  return %gv : tensor<1x1xi32>
}

// CHECK-LABEL: func.func @mean(
// CHECK: "relax.mean"(%x) {axis = array<i64: 0>} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
func.func @mean(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.mean"(%x) {axis = array<i64: 0>} : (tensor<?x?x?xf32>) -> tensor<?x?xf32>
  return %gv : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @min(
// CHECK: "relax.min"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
func.func @min(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.min"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %gv : tensor<?xf32, #relax.dims<["n"]>>
}

// CHECK-LABEL: func.func @prod(
// CHECK: "relax.prod"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
func.func @prod(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.prod"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %gv : tensor<?xf32, #relax.dims<["n"]>>
}

// CHECK-LABEL: func.func @std(
// CHECK: "relax.std"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
func.func @std(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.std"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %gv : tensor<?xf32, #relax.dims<["n"]>>
}

// CHECK-LABEL: func.func @sum(
// CHECK: "relax.sum"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32>
func.func @sum(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32> attributes {relax.attrs = {}} {
  %gv = "relax.sum"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<f32>
  return %gv : tensor<f32>
}

// CHECK-LABEL: func.func @sum_1(
// CHECK: "relax.sum"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
func.func @sum_1(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.sum"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %gv : tensor<?xf32, #relax.dims<["n"]>>
}

// CHECK-LABEL: func.func @sum_2(
// CHECK: "relax.sum"(%x) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<1x4x1xf32>
func.func @sum_2(%x: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<1x4x1xf32> attributes {relax.attrs = {}} {
  %gv = "relax.sum"(%x) {axis = array<i64: -1, 0>, keepdims = true} : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<1x4x1xf32>
  return %gv : tensor<1x4x1xf32>
}

// CHECK-LABEL: func.func @variance(
// CHECK: "relax.variance"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<4xf32>
func.func @variance(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.variance"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<4xf32>
  return %gv : tensor<4xf32>
}

// CHECK-LABEL: func.func @median(
// CHECK: "relax.median"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?xf32, #relax.dims<["n"]>>, tensor<?xi64, #relax.dims<["n"]>>>
func.func @median(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?xf32, #relax.dims<["n"]>>, tensor<?xi64, #relax.dims<["n"]>>> attributes {relax.attrs = {}} {
  %gv = "relax.median"(%x) {axis = array<i64: 1>} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tuple<tensor<?xf32, #relax.dims<["n"]>>, tensor<?xi64, #relax.dims<["n"]>>>
  return %gv : tuple<tensor<?xf32, #relax.dims<["n"]>>, tensor<?xi64, #relax.dims<["n"]>>>
}

// CHECK-LABEL: func.func @cumsum(
// CHECK: "relax.cumsum"(%x) {axis = -1 : i64, dtype = "float64"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf64, #relax.dims<["n", 4]>>
func.func @cumsum(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf64, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.cumsum"(%x) {axis = -1 : i64, dtype = "float64"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf64, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf64, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @cumprod(
// CHECK: "relax.cumprod"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
func.func @cumprod(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n * 4"]>> attributes {relax.attrs = {}} {
  %gv = "relax.cumprod"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
  return %gv : tensor<?xf32, #relax.dims<["n * 4"]>>
}
