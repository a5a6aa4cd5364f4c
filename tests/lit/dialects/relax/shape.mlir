// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @shape_of(
// CHECK: "relax.shape_of"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> !relax.shape<["n", 5], 2 : i64>
func.func @shape_of(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> !relax.shape<["n", 5], 2 : i64> attributes {relax.attrs = {}} {
  %gv = "relax.shape_of"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> !relax.shape<["n", 5], 2 : i64>
  return %gv : !relax.shape<["n", 5], 2 : i64>
}

// CHECK-LABEL: func.func @shape_to_tensor(
// CHECK: "relax.shape_to_tensor"(%x) : (!relax.shape<["n", 5], 2 : i64>) -> tensor<2xi64>
func.func @shape_to_tensor(%x: !relax.shape<["n", 5], 2 : i64>) -> tensor<2xi64> attributes {relax.attrs = {}} {
  %gv = "relax.shape_to_tensor"(%x) : (!relax.shape<["n", 5], 2 : i64>) -> tensor<2xi64>
  return %gv : tensor<2xi64>
}

// CHECK-LABEL: func.func @tensor_to_shape(
// CHECK: "relax.tensor_to_shape"(%x) : (tensor<3xi64>) -> !relax.shape<[], 3 : i64>
func.func @tensor_to_shape(%x: tensor<3xi64>) -> !relax.shape<[], 3 : i64> attributes {relax.attrs = {}} {
  %gv = "relax.tensor_to_shape"(%x) : (tensor<3xi64>) -> !relax.shape<[], 3 : i64>
  return %gv : !relax.shape<[], 3 : i64>
}

// CHECK-LABEL: func.func @size(
// CHECK: "relax.size"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<i64>
func.func @size(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<i64> attributes {relax.attrs = {}} {
  %gv = "relax.size"(%x) : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<i64>
  return %gv : tensor<i64>
}

// CHECK-LABEL: func.func @broadcast_shapes(
// CHECK: "relax.broadcast_shapes"(%x, %y) : (!relax.shape<["n", 5], 2 : i64>, !relax.shape<["m", 1], 2 : i64>) -> !relax.shape<[], 2 : i64>
func.func @broadcast_shapes(%x: !relax.shape<["n", 5], 2 : i64>, %y: !relax.shape<["m", 1], 2 : i64>) -> !relax.shape<[], 2 : i64> attributes {relax.attrs = {}} {
  %gv = "relax.broadcast_shapes"(%x, %y) : (!relax.shape<["n", 5], 2 : i64>, !relax.shape<["m", 1], 2 : i64>) -> !relax.shape<[], 2 : i64>
  return %gv : !relax.shape<[], 2 : i64>
}
