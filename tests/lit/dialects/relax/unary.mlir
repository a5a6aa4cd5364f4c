// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @acos(
// CHECK: "relax.acos"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @acos(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.acos"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @acosh(
// CHECK: "relax.acosh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @acosh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.acosh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @asin(
// CHECK: "relax.asin"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @asin(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.asin"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @asinh(
// CHECK: "relax.asinh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @asinh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.asinh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @atan(
// CHECK: "relax.atan"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @atan(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.atan"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @atanh(
// CHECK: "relax.atanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @atanh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.atanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @cos(
// CHECK: "relax.cos"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @cos(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.cos"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @cosh(
// CHECK: "relax.cosh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @cosh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.cosh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @erf(
// CHECK: "relax.erf"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @erf(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.erf"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @exp(
// CHECK: "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @exp(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.exp"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @log(
// CHECK: "relax.log"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @log(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.log"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: "relax.rsqrt"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @rsqrt(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.rsqrt"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK: "relax.sigmoid"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @sigmoid(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.sigmoid"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @sin(
// CHECK: "relax.sin"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @sin(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.sin"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @sinh(
// CHECK: "relax.sinh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @sinh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.sinh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: "relax.sqrt"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @sqrt(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.sqrt"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @tan(
// CHECK: "relax.tan"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @tan(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.tan"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: "relax.tanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @tanh(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.tanh"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @abs(
// CHECK: "relax.abs"(%x) : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
func.func @abs(%x: tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.abs"(%x) : (tensor<?x4xi32, #relax.dims<["n", 4]>>) -> tensor<?x4xi32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: "relax.ceil"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @ceil(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.ceil"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @floor(
// CHECK: "relax.floor"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @floor(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.floor"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @negative(
// CHECK: "relax.negative"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @negative(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.negative"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @round(
// CHECK: "relax.round"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @round(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.round"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @sign(
// CHECK: "relax.sign"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @sign(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.sign"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @square(
// CHECK: "relax.square"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @square(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.square"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @trunc(
// CHECK: "relax.trunc"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @trunc(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.trunc"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @bitwise_not(
// CHECK: "relax.bitwise_not"(%x) : (tensor<3xui8>) -> tensor<3xui8>
func.func @bitwise_not(%x: tensor<3xui8>) -> tensor<3xui8> attributes {relax.attrs = {}} {
  %gv = "relax.bitwise_not"(%x) : (tensor<3xui8>) -> tensor<3xui8>
  return %gv : tensor<3xui8>
}

// CHECK-LABEL: func.func @logical_not(
// CHECK: "relax.logical_not"(%x) : (tensor<i1>) -> tensor<i1>
func.func @logical_not(%x: tensor<i1>) -> tensor<i1> attributes {relax.attrs = {}} {
  %gv = "relax.logical_not"(%x) : (tensor<i1>) -> tensor<i1>
  return %gv : tensor<i1>
}

// CHECK-LABEL: func.func @isfinite(
// CHECK: "relax.isfinite"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @isfinite(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.isfinite"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @isinf(
// CHECK: "relax.isinf"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
func.func @isinf(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.isinf"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi1, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi1, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @isnan(
// CHECK: "relax.isnan"(%x) : (tensor<3xf32>) -> tensor<3xi1>
func.func @isnan(%x: tensor<3xf32>) -> tensor<3xi1> attributes {relax.attrs = {}} {
  %gv = "relax.isnan"(%x) : (tensor<3xf32>) -> tensor<3xi1>
  return %gv : tensor<3xi1>
}

// CHECK-LABEL: func.func @clip(
// CHECK: "relax.clip"(%x) {max = 6 : i64, min = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @clip(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.clip"(%x) {max = 6 : i64, min = 0 : i64} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
