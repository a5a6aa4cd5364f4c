// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @to_vdevice(
// CHECK: "relax.to_vdevice"(%x0)
func.func @to_vdevice(%x0: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.to_vdevice"(%x0) : (tensor<2xf32>) -> tensor<2xf32>
  return %gv : tensor<2xf32>
}

// CHECK-LABEL: func.func @hint_on_device(
// CHECK: "relax.hint_on_device"(%x0)
func.func @hint_on_device(%x0: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.hint_on_device"(%x0) : (tensor<2xf32>) -> tensor<2xf32>
  return %gv : tensor<2xf32>
}
