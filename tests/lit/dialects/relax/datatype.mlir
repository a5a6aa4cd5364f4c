// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @astype(
// CHECK: "relax.astype"(%x) {dtype = "int8"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi8, #relax.dims<["n", 4]>>
func.func @astype(%x: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi8, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.astype"(%x) {dtype = "int8"} : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xi8, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xi8, #relax.dims<["n", 4]>>
}

// CHECK-LABEL: func.func @wrap_param(
// CHECK: "relax.wrap_param"(%x) {dtype = "float16"} : (tensor<4xf32>) -> tensor<4xf16>
func.func @wrap_param(%x: tensor<4xf32>) -> tensor<4xf16> attributes {relax.attrs = {}} {
  %gv = "relax.wrap_param"(%x) {dtype = "float16"} : (tensor<4xf32>) -> tensor<4xf16>
  return %gv : tensor<4xf16>
}

// CHECK-LABEL: func.func @quantize(
// CHECK: "relax.quantize"(%x0, %x1, %x2) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x8xi8, #relax.dims<["n", 8]>>
func.func @quantize(%x0: tensor<?x8xf32, #relax.dims<["n", 8]>>, %x1: tensor<8xf32>, %x2: tensor<8xi8>) -> tensor<?x8xi8, #relax.dims<["n", 8]>> attributes {relax.attrs = {}} {
  %gv = "relax.quantize"(%x0, %x1, %x2) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x8xi8, #relax.dims<["n", 8]>>
  return %gv : tensor<?x8xi8, #relax.dims<["n", 8]>>
}

// CHECK-LABEL: func.func @dequantize(
// CHECK: "relax.dequantize"(%x0, %x1, %x2) : (tensor<?x8xi8, #relax.dims<["n", 8]>>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
func.func @dequantize(%x0: tensor<?x8xi8, #relax.dims<["n", 8]>>, %x1: tensor<8xf32>, %x2: tensor<8xi8>) -> tensor<?x8xf32, #relax.dims<["n", 8]>> attributes {relax.attrs = {}} {
  %gv = "relax.dequantize"(%x0, %x1, %x2) : (tensor<?x8xi8, #relax.dims<["n", 8]>>, tensor<8xf32>, tensor<8xi8>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  return %gv : tensor<?x8xf32, #relax.dims<["n", 8]>>
}
