// RUN: relax-opt %s --relax-adjust-matmul-order | FileCheck %s

// CHECK-LABEL: func.func @low_rank(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"}, %a: tensor<64x8xf32> {relax.name = "a"}, %b: tensor<8x64xf32> {relax.name = "b"}) -> tensor<?x64xf32, #relax.dims<["n", 64]>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.matmul"(%x, %a) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x8xf32>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
// CHECK-NEXT: %y = "relax.matmul"(%0, %b) : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
// CHECK-NEXT: return %y : tensor<?x64xf32, #relax.dims<["n", 64]>>
// CHECK-LABEL: func.func @vector(%a: tensor<64x64xf32> {relax.name = "a"}, %b: tensor<64x64xf32> {relax.name = "b"}, %x: tensor<64x1xf32> {relax.name = "x"}) -> tensor<64x1xf32> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.matmul"(%b, %x) : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
// CHECK-NEXT: %y = "relax.matmul"(%a, %0) : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
// CHECK-NEXT: return %y : tensor<64x1xf32>
// CHECK-LABEL: func.func @uncertain(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"}, %a: tensor<64x?xf32, #relax.dims<[64, "m"]>> {relax.name = "a"}, %b: tensor<?x64xf32, #relax.dims<["m", 64]>> {relax.name = "b"}) -> tensor<?x64xf32, #relax.dims<["n", 64]>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %w = "relax.matmul"(%a, %b) : (tensor<64x?xf32, #relax.dims<[64, "m"]>>, tensor<?x64xf32, #relax.dims<["m", 64]>>) -> tensor<64x64xf32>
// CHECK-NEXT: %y = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
// CHECK-NEXT: return %y : tensor<?x64xf32, #relax.dims<["n", 64]>>
func.func @low_rank(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"}, %a: tensor<64x8xf32> {relax.name = "a"}, %b: tensor<8x64xf32> {relax.name = "b"}) -> tensor<?x64xf32, #relax.dims<["n", 64]>> attributes {relax.attrs = {}} {
  %w = "relax.matmul"(%a, %b) : (tensor<64x8xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %y = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %y : tensor<?x64xf32, #relax.dims<["n", 64]>>
}
func.func @vector(%a: tensor<64x64xf32> {relax.name = "a"}, %b: tensor<64x64xf32> {relax.name = "b"}, %x: tensor<64x1xf32> {relax.name = "x"}) -> tensor<64x1xf32> attributes {relax.attrs = {}} {
  %w = "relax.matmul"(%a, %b) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = "relax.matmul"(%w, %x) : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  return %y : tensor<64x1xf32>
}
func.func @uncertain(%x: tensor<?x64xf32, #relax.dims<["n", 64]>> {relax.name = "x"}, %a: tensor<64x?xf32, #relax.dims<[64, "m"]>> {relax.name = "a"}, %b: tensor<?x64xf32, #relax.dims<["m", 64]>> {relax.name = "b"}) -> tensor<?x64xf32, #relax.dims<["n", 64]>> attributes {relax.attrs = {}} {
  %w = "relax.matmul"(%a, %b) : (tensor<64x?xf32, #relax.dims<[64, "m"]>>, tensor<?x64xf32, #relax.dims<["m", 64]>>) -> tensor<64x64xf32>
  %y = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.dims<["n", 64]>>, tensor<64x64xf32>) -> tensor<?x64xf32, #relax.dims<["n", 64]>>
  return %y : tensor<?x64xf32, #relax.dims<["n", 64]>>
}
