// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @add(
// CHECK: "relax.add"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @add(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.add"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @add_1(
// CHECK: "relax.add"(%x0, %x1) : (tensor<?x1xf32, #relax.dims<["n", 1]>>, tensor<1x?xf32, #relax.dims<[1, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
func.func @add_1(%x0: tensor<?x1xf32, #relax.dims<["n", 1]>>, %x1: tensor<1x?xf32, #relax.dims<[1, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>> attributes {relax.attrs = {}} {
  %gv = "relax.add"(%x0, %x1) : (tensor<?x1xf32, #relax.dims<["n", 1]>>, tensor<1x?xf32, #relax.dims<[1, "m"]>>) -> tensor<?x?xf32, #relax.dims<["n", "m"]>>
  return %gv : tensor<?x?xf32, #relax.dims<["n", "m"]>>
}

// CHECK-LABEL: func.func @add_2(
// CHECK: "relax.add"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x?xf32>
func.func @add_2(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.add"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x?xf32>
  return %gv : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @subtract(
// CHECK: "relax.subtract"(%x0, %x1) : (tensor<*xf32>, tensor<4x5xf32>) -> tensor<*xf32>
func.func @subtract(%x0: tensor<*xf32>, %x1: tensor<4x5xf32>) -> tensor<*xf32> attributes {relax.attrs = {}} {
  %gv = "relax.subtract"(%x0, %x1) : (tensor<*xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  return %gv : tensor<*xf32>
}

// CHECK-LABEL: func.func @multiply(
// CHECK: "relax.multiply"(%x0, %x1) : (tensor<?x?x?xf32>, tensor<4x5xf32>) -> tensor<?x?x?xf32>
func.func @multiply(%x0: tensor<?x?x?xf32>, %x1: tensor<4x5xf32>) -> tensor<?x?x?xf32> attributes {relax.attrs = {}} {
  %gv = "relax.multiply"(%x0, %x1) : (tensor<?x?x?xf32>, tensor<4x5xf32>) -> tensor<?x?x?xf32>
  return %gv : tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @divide(
// CHECK: "relax.divide"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @divide(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.divide"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @floor_divide(
// CHECK: "relax.floor_divide"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @floor_divide(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.floor_divide"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @mod(
// CHECK: "relax.mod"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @mod(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.mod"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @floor_mod(
// CHECK: "relax.floor_mod"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @floor_mod(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.floor_mod"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @power(
// CHECK: "relax.power"(%x0, %x1) : (tensor<0x3xf16>, tensor<3xf16>) -> tensor<0x3xf16>
func.func @power(%x0: tensor<0x3xf16>, %x1: tensor<3xf16>) -> tensor<0x3xf16> attributes {relax.attrs = {}} {
  %gv = "relax.power"(%x0, %x1) : (tensor<0x3xf16>, tensor<3xf16>) -> tensor<0x3xf16>
  return %gv : tensor<0x3xf16>
}

// CHECK-LABEL: func.func @maximum(
// CHECK: "relax.maximum"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @maximum(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.maximum"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @minimum(
// CHECK: "relax.minimum"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @minimum(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.minimum"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @atan2(
// CHECK: "relax.atan2"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @atan2(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.atan2"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @log_add_exp(
// CHECK: "relax.log_add_exp"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @log_add_exp(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.log_add_exp"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @equal(
// CHECK: "relax.equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @equal(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @not_equal(
// CHECK: "relax.not_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @not_equal(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.not_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @greater(
// CHECK: "relax.greater"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @greater(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.greater"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @greater_equal(
// CHECK: "relax.greater_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @greater_equal(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.greater_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @less(
// CHECK: "relax.less"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<i32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @less(%x0: tensor<?x4xi32, #relax.dims<["n", 4]>>, %x1: tensor<i32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.less"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<i32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @less_equal(
// CHECK: "relax.less_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @less_equal(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.less_equal"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @logical_and(
// CHECK: "relax.logical_and"(%x0, %x1) : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
func.func @logical_and(%x0: tensor<2x3xi1>, %x1: tensor<3xi1>) -> tensor<2x3xi1> attributes {relax.attrs = {}} {
  %gv = "relax.logical_and"(%x0, %x1) : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  return %gv : tensor<2x3xi1>
}

// CHECK-LABEL: func.func @logical_or(
// CHECK: "relax.logical_or"(%x0, %x1) : (tensor<?x4xi1, #relax.dims<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @logical_or(%x0: tensor<?x4xi1, #relax.dims<["n", 4]>>, %x1: tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.logical_or"(%x0, %x1) : (tensor<?x4xi1, #relax.dims<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @logical_xor(
// CHECK: "relax.logical_xor"(%x0, %x1) : (tensor<?x4xi1, #relax.dims<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @logical_xor(%x0: tensor<?x4xi1, #relax.dims<["n", 4]>>, %x1: tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.logical_xor"(%x0, %x1) : (tensor<?x4xi1, #relax.dims<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_and(
// CHECK: "relax.bitwise_and"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @bitwise_and(%x0: tensor<?x4xi32, #relax.dims<["n", 4]>>, %x1: tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.bitwise_and"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_or(
// CHECK: "relax.bitwise_or"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @bitwise_or(%x0: tensor<?x4xi32, #relax.dims<["n", 4]>>, %x1: tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.bitwise_or"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_xor(
// CHECK: "relax.bitwise_xor"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @bitwise_xor(%x0: tensor<?x4xi32, #relax.dims<["n", 4]>>, %x1: tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.bitwise_xor"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @left_shift(
// CHECK: "relax.left_shift"(%x0, %x1) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
func.func @left_shift(%x0: tensor<2x3xi32>, %x1: tensor<3xi32>) -> tensor<2x3xi32> attributes {relax.attrs = {}} {
  %gv = "relax.left_shift"(%x0, %x1) : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  return %gv : tensor<2x3xi32>
}

// CHECK-LABEL: func.func @right_shift(
// CHECK: "relax.right_shift"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @right_shift(%x0: tensor<?x4xi32, #relax.dims<["n", 4]>>, %x1: tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.right_shift"(%x0, %x1) : (tensor<?x4xi32, #relax.dims<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}
