// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @take(
// CHECK: "relax.take"(%x0, %x1) {axis = 1 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<5x6xi32>) -> tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>
func.func @take(%x0: tensor<?x2xf32, #relax.dims<["n", 2]>>, %x1: tensor<5x6xi32>) -> tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>> attributes {relax.attrs = {}} {
  %gv = "relax.take"(%x0, %x1) {axis = 1 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<5x6xi32>) -> tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>
  return %gv : tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>
}

// CHECK-LABEL: func.func @take_1(
// CHECK: "relax.take"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<5xi64>) -> tensor<5xf32>
func.func @take_1(%x0: tensor<?xf32, #relax.dims<["n"]>>, %x1: tensor<5xi64>) -> tensor<5xf32> attributes {relax.attrs = {}} {
  %gv = "relax.take"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<5xi64>) -> tensor<5xf32>
  return %gv : tensor<5xf32>
}

// CHECK-LABEL: func.func @take_2(
// CHECK: "relax.take"(%x0, %x1) {axis = 0 : i64} : (tensor<?x3xf32, #relax.dims<["n", 3]>>, !relax.prim<i64, "1">) -> tensor<3xf32>
func.func @take_2(%x0: tensor<?x3xf32, #relax.dims<["n", 3]>>, %x1: !relax.prim<i64, "1">) -> tensor<3xf32> attributes {relax.attrs = {}} {
  %gv = "relax.take"(%x0, %x1) {axis = 0 : i64} : (tensor<?x3xf32, #relax.dims<["n", 3]>>, !relax.prim<i64, "1">) -> tensor<3xf32>
  return %gv : tensor<3xf32>
}

// CHECK-LABEL: func.func @strided_slice(
// CHECK: "relax.strided_slice"(%x0, %x1, %x2, %x3, %x4) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, !relax.shape<[1], 1 : i64>, !relax.shape<[1], 1 : i64>, !relax.shape<[100], 1 : i64>, !relax.shape<[3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @strided_slice(%x0: tensor<?x9xf32, #relax.dims<["n", 9]>>, %x1: !relax.shape<[1], 1 : i64>, %x2: !relax.shape<[1], 1 : i64>, %x3: !relax.shape<[100], 1 : i64>, %x4: !relax.shape<[3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3, %x4) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, !relax.shape<[1], 1 : i64>, !relax.shape<[1], 1 : i64>, !relax.shape<[100], 1 : i64>, !relax.shape<[3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @strided_slice_1(
// CHECK: "relax.strided_slice"(%x0, %x1, %x2, %x3, %x4) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, !relax.shape<[1], 1 : i64>, !relax.shape<[8], 1 : i64>, !relax.shape<[0], 1 : i64>, !relax.shape<[-3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @strided_slice_1(%x0: tensor<?x9xf32, #relax.dims<["n", 9]>>, %x1: !relax.shape<[1], 1 : i64>, %x2: !relax.shape<[8], 1 : i64>, %x3: !relax.shape<[0], 1 : i64>, %x4: !relax.shape<[-3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3, %x4) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, !relax.shape<[1], 1 : i64>, !relax.shape<[8], 1 : i64>, !relax.shape<[0], 1 : i64>, !relax.shape<[-3], 1 : i64>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @strided_slice_2(
// CHECK: "relax.strided_slice"(%x0, %x1, %x2, %x3) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<[0], 1 : i64>, !relax.shape<[1], 1 : i64>, !relax.shape<["n"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["max(0, n - 1)", 4]>>
func.func @strided_slice_2(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: !relax.shape<[0], 1 : i64>, %x2: !relax.shape<[1], 1 : i64>, %x3: !relax.shape<["n"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["max(0, n - 1)", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<[0], 1 : i64>, !relax.shape<[1], 1 : i64>, !relax.shape<["n"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["max(0, n - 1)", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["max(0, n - 1)", 4]>>
}

// CHECK-LABEL: func.func @strided_slice_3(
// CHECK: "relax.strided_slice"(%x0, %x1, %x2, %x3) {assume_inbound = true} : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<[0], 1 : i64>, !relax.shape<[0], 1 : i64>, !relax.shape<["m"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>
func.func @strided_slice_3(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: !relax.shape<[0], 1 : i64>, %x2: !relax.shape<[0], 1 : i64>, %x3: !relax.shape<["m"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["m", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3) {assume_inbound = true} : (tensor<?x4xf32, #relax.dims<["n", 4]>>, !relax.shape<[0], 1 : i64>, !relax.shape<[0], 1 : i64>, !relax.shape<["m"], 1 : i64>) -> tensor<?x4xf32, #relax.dims<["m", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["m", 4]>>
}

// CHECK-LABEL: func.func @dynamic_strided_slice(
// CHECK: "relax.dynamic_strided_slice"(%x0, %x1, %x2, %x3) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
func.func @dynamic_strided_slice(%x0: tensor<?x9xf32, #relax.dims<["n", 9]>>, %x1: tensor<2xi64>, %x2: tensor<2xi64>, %x3: tensor<2xi64>) -> tensor<?x?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dynamic_strided_slice"(%x0, %x1, %x2, %x3) : (tensor<?x9xf32, #relax.dims<["n", 9]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %gv : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @gather_elements(
// CHECK: "relax.gather_elements"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<2x3xi64>) -> tensor<2x3xf32>
func.func @gather_elements(%x0: tensor<?x3xf32, #relax.dims<["n", 3]>>, %x1: tensor<2x3xi64>) -> tensor<2x3xf32> attributes {relax.attrs = {}} {
  %gv = "relax.gather_elements"(%x0, %x1) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return %gv : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @gather_nd(
// CHECK: "relax.gather_nd"(%x0, %x1) {batch_dims = 1 : i64} : (tensor<4x5x6xf32>, tensor<4x3x1xi64>) -> tensor<4x3x6xf32>
func.func @gather_nd(%x0: tensor<4x5x6xf32>, %x1: tensor<4x3x1xi64>) -> tensor<4x3x6xf32> attributes {relax.attrs = {}} {
  %gv = "relax.gather_nd"(%x0, %x1) {batch_dims = 1 : i64} : (tensor<4x5x6xf32>, tensor<4x3x1xi64>) -> tensor<4x3x6xf32>
  return %gv : tensor<4x3x6xf32>
}

// CHECK-LABEL: func.func @scatter_elements(
// CHECK: "relax.scatter_elements"(%x0, %x1, %x2) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
func.func @scatter_elements(%x0: tensor<?x3xf32, #relax.dims<["n", 3]>>, %x1: tensor<2x3xi64>, %x2: tensor<2x3xf32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>> attributes {relax.attrs = {}} {
  %gv = "relax.scatter_elements"(%x0, %x1, %x2) : (tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<?x3xf32, #relax.dims<["n", 3]>>
  return %gv : tensor<?x3xf32, #relax.dims<["n", 3]>>
}

// CHECK-LABEL: func.func @scatter_nd(
// CHECK: "relax.scatter_nd"(%x0, %x1, %x2) : (tensor<8x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<8x3xf32>
func.func @scatter_nd(%x0: tensor<8x3xf32>, %x1: tensor<2x1xi64>, %x2: tensor<2x3xf32>) -> tensor<8x3xf32> attributes {relax.attrs = {}} {
  %gv = "relax.scatter_nd"(%x0, %x1, %x2) : (tensor<8x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<8x3xf32>
  return %gv : tensor<8x3xf32>
}

// CHECK-LABEL: func.func @index_tensor(
// CHECK: "relax.index_tensor"(%x0, %x1, %x2) : (tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>, tensor<3x1xi64>, tensor<4xi64>) -> tensor<3x4x6xf32>
func.func @index_tensor(%x0: tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>, %x1: tensor<3x1xi64>, %x2: tensor<4xi64>) -> tensor<3x4x6xf32> attributes {relax.attrs = {}} {
  %gv = "relax.index_tensor"(%x0, %x1, %x2) : (tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>, tensor<3x1xi64>, tensor<4xi64>) -> tensor<3x4x6xf32>
  return %gv : tensor<3x4x6xf32>
}

// CHECK-LABEL: func.func @index_put(
// CHECK: "relax.index_put"(%x0, %x1, %x2, %x3) : (tensor<?x5xf32, #relax.dims<["n", 5]>>, tensor<3xi64>, tensor<3xi64>, tensor<3xf32>) -> tensor<?x5xf32, #relax.dims<["n", 5]>>
func.func @index_put(%x0: tensor<?x5xf32, #relax.dims<["n", 5]>>, %x1: tensor<3xi64>, %x2: tensor<3xi64>, %x3: tensor<3xf32>) -> tensor<?x5xf32, #relax.dims<["n", 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.index_put"(%x0, %x1, %x2, %x3) : (tensor<?x5xf32, #relax.dims<["n", 5]>>, tensor<3xi64>, tensor<3xi64>, tensor<3xf32>) -> tensor<?x5xf32, #relax.dims<["n", 5]>>
  return %gv : tensor<?x5xf32, #relax.dims<["n", 5]>>
}

// CHECK-LABEL: func.func @slice_scatter(
// CHECK: "relax.slice_scatter"(%x0, %x1, %x2, %x3, %x4) : (tensor<8x4xf32>, tensor<3x4xf32>, !relax.prim<i64, "1">, !relax.prim<i64, "7">, !relax.prim<i64, "2">) -> tensor<8x4xf32>
func.func @slice_scatter(%x0: tensor<8x4xf32>, %x1: tensor<3x4xf32>, %x2: !relax.prim<i64, "1">, %x3: !relax.prim<i64, "7">, %x4: !relax.prim<i64, "2">) -> tensor<8x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.slice_scatter"(%x0, %x1, %x2, %x3, %x4) : (tensor<8x4xf32>, tensor<3x4xf32>, !relax.prim<i64, "1">, !relax.prim<i64, "7">, !relax.prim<i64, "2">) -> tensor<8x4xf32>
  return %gv : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @one_hot(
// CHECK: "relax.one_hot"(%x0, %x1, %x2) {depth = 7 : i64} : (tensor<?xi32, #relax.dims<["n"]>>, !relax.prim<i64, "1">, !relax.prim<i64, "0">) -> tensor<?x7xi64, #relax.dims<["n", 7]>>
func.func @one_hot(%x0: tensor<?xi32, #relax.dims<["n"]>>, %x1: !relax.prim<i64, "1">, %x2: !relax.prim<i64, "0">) -> tensor<?x7xi64, #relax.dims<["n", 7]>> attributes {relax.attrs = {}} {
  %gv = "relax.one_hot"(%x0, %x1, %x2) {depth = 7 : i64} : (tensor<?xi32, #relax.dims<["n"]>>, !relax.prim<i64, "1">, !relax.prim<i64, "0">) -> tensor<?x7xi64, #relax.dims<["n", 7]>>
  return %gv : tensor<?x7xi64, #relax.dims<["n", 7]>>
}
