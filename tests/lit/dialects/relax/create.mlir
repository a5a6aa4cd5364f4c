// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @full(
// CHECK: "relax.full"(%x0, %x1) : (!relax.shape<["n", 3], 2 : i64>, tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @full(%x0: !relax.shape<["n", 3], 2 : i64>, %x1: tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.full"(%x0, %x1) : (!relax.shape<["n", 3], 2 : i64>, tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @full_1(
// CHECK: "relax.full"(%x0, %x1) {dtype = "int32"} : (!relax.shape<["n", 3], 2 : i64>, tensor<f32>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
func.func @full_1(%x0: !relax.shape<["n", 3], 2 : i64>, %x1: tensor<f32>) -> tensor<?x3xi32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.full"(%x0, %x1) {dtype = "int32"} : (!relax.shape<["n", 3], 2 : i64>, tensor<f32>) -> tensor<?x3xi32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xi32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @full_like(
// CHECK: "relax.full_like"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @full_like(%x0: tensor<?x3xf32, #relax.dims<["n", 3]>>, %x1: tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.full_like"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<f32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @zeros(
// CHECK: "relax.zeros"(%x) {dtype = "float16"} : (!relax.shape<[2, "n"], 2 : i64>) -> tensor<2x?xf16, #relax.dims<[2, "n"]>>
func.func @zeros(%x: !relax.shape<[2, "n"], 2 : i64>) -> tensor<2x?xf16, #relax.dims<[2, "n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.zeros"(%x) {dtype = "float16"} : (!relax.shape<[2, "n"], 2 : i64>) -> tensor<2x?xf16, #relax.dims<[2, "n"]>>
  return %gv : tensor<2x?xf16, #relax.dims<[2, "n"]>>
}

// CHECK-LABEL: func.func @zeros_like(
// CHECK: "relax.zeros_like"(%x) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @zeros_like(%x: tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.zeros_like"(%x) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @ones(
// CHECK: "relax.ones"(%x) {dtype = "float32"} : (!relax.shape<["n", 4], 2 : i64>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @ones(%x: !relax.shape<["n", 4], 2 : i64>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.ones"(%x) {dtype = "float32"} : (!relax.shape<["n", 4], 2 : i64>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @ones_like(
// CHECK: "relax.ones_like"(%x) {dtype = "int8"} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xi8, #relax.dims<["n", 3]>>
func.func @ones_like(%x: tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xi8, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.ones_like"(%x) {dtype = "int8"} : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<?x3xi8, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xi8, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @eye(
// CHECK: "relax.eye"(%x0, %x1, %x2) {dtype = "int32", operandSegmentSizes = array<i32: 1, 1, 1>} : (!relax.prim<i64, "n">, !relax.prim<i64, "m">, !relax.prim<i64, "1">) -> tensor<?x?xi32, #relax.dims<["n", "m"]>>
func.func @eye(%x0: !relax.prim<i64, "n">, %x1: !relax.prim<i64, "m">, %x2: !relax.prim<i64, "1">) -> tensor<?x?xi32, #relax.dims<["n", "m"]>> attributes {relax.attrs = {}} {
  %gv = "relax.eye"(%x0, %x1, %x2) {dtype = "int32", operandSegmentSizes = array<i32: 1, 1, 1>} : (!relax.prim<i64, "n">, !relax.prim<i64, "m">, !relax.prim<i64, "1">) -> tensor<?x?xi32, #relax.dims<["n", "m"]>>
  return %gv : tensor<?x?xi32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: func.func @eye_like(
// CHECK: "relax.eye_like"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @eye_like(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.eye_like"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @arange(
// CHECK: "relax.arange"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!relax.prim<i64, "5">) -> tensor<5xi64>
func.func @arange(%x: !relax.prim<i64, "5">) -> tensor<5xi64> attributes {relax.attrs = {}} {
  %gv = "relax.arange"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!relax.prim<i64, "5">) -> tensor<5xi64>
  return %gv : tensor<5xi64>
}

// CHECK-LABEL: func.func @arange_1(
// CHECK: "relax.arange"(%x0, %x1, %x2) {operandSegmentSizes = array<i32: 1, 1, 1>} : (!relax.prim<i64, "1">, !relax.prim<i64, "n">, !relax.prim<i64, "2">) -> tensor<?xi64, #relax.dims<["floordiv(n, 2)"]>>
func.func @arange_1(%x0: !relax.prim<i64, "1">, %x1: !relax.prim<i64, "n">, %x2: !relax.prim<i64, "2">) -> tensor<?xi64, #relax.dims<["floordiv(n, 2)"]>> attributes {relax.attrs = {}} {
  %gv = "relax.arange"(%x0, %x1, %x2) {operandSegmentSizes = array<i32: 1, 1, 1>} : (!relax.prim<i64, "1">, !relax.prim<i64, "n">, !relax.prim<i64, "2">) -> tensor<?xi64, #relax.dims<["floordiv(n, 2)"]>>
  return %gv : tensor<?xi64, #relax.dims<["floordiv(n, 2)"]>>
}

// CHECK-LABEL: func.func @tril(
// CHECK: "relax.tril"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, !relax.prim<i64, "1">) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @tril(%x0: tensor<?x3xf32, #relax.dims<["n", 3]>>, %x1: !relax.prim<i64, "1">) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.tril"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, !relax.prim<i64, "1">) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @triu(
// CHECK: "relax.triu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @triu(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.triu"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @hamming_window(
// CHECK: "relax.hamming_window"(%x0, %x1, %x2, %x3) : (!relax.prim<i64, "5">, !relax.prim<i64, "1">, !relax.prim<f32, "">, !relax.prim<f32, "">) -> tensor<5xf32>
func.func @hamming_window(%x0: !relax.prim<i64, "5">, %x1: !relax.prim<i64, "1">, %x2: !relax.prim<f32, "">, %x3: !relax.prim<f32, "">) -> tensor<5xf32> attributes {relax.attrs = {}} {
  %gv = "relax.hamming_window"(%x0, %x1, %x2, %x3) : (!relax.prim<i64, "5">, !relax.prim<i64, "1">, !relax.prim<f32, "">, !relax.prim<f32, "">) -> tensor<5xf32>
  return %gv : tensor<5xf32>
}
