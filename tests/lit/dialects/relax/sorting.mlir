// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @sort(
// CHECK: "relax.sort"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xf32, #relax.dims<["n", 5]>>
func.func @sort(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xf32, #relax.dims<["n", 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.sort"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xf32, #relax.dims<["n", 5]>>
  return %gv : tensor<?x5xf32, #relax.dims<["n", 5]>>
}

// CHECK-LABEL: func.func @argsort(
// CHECK: "relax.argsort"(%x) {dtype = "int64"} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xi64, #relax.dims<["n", 5]>>
func.func @argsort(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xi64, #relax.dims<["n", 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.argsort"(%x) {dtype = "int64"} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x5xi64, #relax.dims<["n", 5]>>
  return %gv : tensor<?x5xi64, #relax.dims<["n", 5]>>
}

// CHECK-LABEL: func.func @topk(
// CHECK: "relax.topk"(%x) {k = 2 : i64} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x2xi32, #relax.dims<["n", 2]>>>
func.func @topk(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x2xi32, #relax.dims<["n", 2]>>> attributes {relax.attrs = {}} {
  %gv = "relax.topk"(%x) {k = 2 : i64} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x2xi32, #relax.dims<["n", 2]>>>
  return %gv : tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x2xi32, #relax.dims<["n", 2]>>>
}

// CHECK-LABEL: func.func @nonzero(
// CHECK: "relax.nonzero"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x?xi64>
func.func @nonzero(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x?xi64> attributes {relax.attrs = {}} {
  %gv = "relax.nonzero"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x?xi64>
  return %gv : tensor<?x?xi64>
}

// CHECK-LABEL: func.func @unique(
// CHECK: "relax.unique"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?xf32>
func.func @unique(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.unique"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?xf32>
  return %gv : tensor<?xf32>
}
