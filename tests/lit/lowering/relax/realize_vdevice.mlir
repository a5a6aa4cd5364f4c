// RUN: relax-opt %s '--pass-pipeline=relax-realize-vdevice{vdevices=llvm:0:global,cuda:0:global}' | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>> {relax.name = "x"}, %y: tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>> {relax.name = "y"}) -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %0 = "relax.dataflow"() ({
// CHECK-NEXT: %lv = "relax.bind"(%x) : (tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>) -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>
// CHECK-NEXT: %lv1 = "relax.add"(%lv, %y) : (tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>, tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>) -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>
// CHECK-NEXT: %lv2 = "relax.to_vdevice"(%lv1) {dst_vdevice = "cuda:0:global"} : (tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "llvm:0:global"]>>) -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>
// CHECK-NEXT: %lv3 = "relax.multiply"(%lv2, %lv2) : (tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>, tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>) -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>
// CHECK-NEXT: "relax.output"(%lv3) : (tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>) -> ()
// CHECK-NEXT: }) : () -> tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>
// CHECK-NEXT: return %0 : tensor<2x3xf32, #relax.placed<[2, 3], ["vdevice", "cuda:0:global"]>>
func.func @main(%x: tensor<2x3xf32> {relax.name = "x"}, %y: tensor<2x3xf32> {relax.name = "y"}) -> tensor<2x3xf32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %lv = "relax.hint_on_device"(%x) {dst_vdevice = "cpu:0", memory_scope = "global"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %lv1 = "relax.add"(%lv, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %lv2 = "relax.hint_on_device"(%lv1) {dst_vdevice = "cuda:0", memory_scope = "global"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %lv3 = "relax.multiply"(%lv2, %lv2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "relax.output"(%lv3) : (tensor<2x3xf32>) -> ()
  }) : () -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
