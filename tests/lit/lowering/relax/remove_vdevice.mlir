// RUN: relax-opt %s --relax-remove-vdevice | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %x: tensor<16xf32> {relax.name = "x"}) -> tensor<16xf32>
// CHECK: %y = "relax.to_vdevice"(%x) {dst_vdevice = "llvm:0"} : (tensor<16xf32>) -> tensor<16xf32>
// CHECK: return %y : tensor<16xf32>
func.func @main(%x: tensor<16xf32, #relax.placed<[16], ["vdevice", "llvm"]>> {relax.name = "x"}) -> tensor<16xf32, #relax.placed<[16], ["vdevice", "llvm:0"]>> attributes {relax.attrs = {}} {
  %y = "relax.to_vdevice"(%x) {dst_vdevice = "llvm:0"} : (tensor<16xf32, #relax.placed<[16], ["vdevice", "llvm"]>>) -> tensor<16xf32, #relax.placed<[16], ["vdevice", "llvm:0"]>>
  return %y : tensor<16xf32, #relax.placed<[16], ["vdevice", "llvm:0"]>>
}


// CHECK-LABEL: func.func @symbolic(
// CHECK-SAME: %x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @symbolic(%x: tensor<?x4xf32, #relax.placed<["n", 4], ["vdevice", "llvm"]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.placed<["n", 4], ["vdevice", "llvm"]>> attributes {relax.attrs = {}} {
  return %x : tensor<?x4xf32, #relax.placed<["n", 4], ["vdevice", "llvm"]>>
}
