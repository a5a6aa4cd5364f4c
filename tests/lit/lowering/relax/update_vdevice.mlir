// RUN: relax-opt %s '--pass-pipeline=relax-update-vdevice{vdevices=cuda:0:global,cuda:1:global index=0 new=metal:0:global}' | FileCheck %s

// CHECK-LABEL: func.func @main(%x: tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "metal:0:global"]>> {relax.name = "x"}) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:0:global"]>> attributes {relax.attrs = {}} {
// CHECK-NEXT: %lv = "relax.exp"(%x) : (tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "metal:0:global"]>>) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "metal:0:global"]>>
// CHECK-NEXT: %lv1 = "relax.to_vdevice"(%lv) {dst_vdevice = "cuda:0:global"} : (tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "metal:0:global"]>>) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:0:global"]>>
// CHECK-NEXT: return %lv1 : tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:0:global"]>>
func.func @main(%x: tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda"]>> {relax.name = "x"}) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:1"]>> attributes {relax.attrs = {}} {
  %lv = "relax.exp"(%x) : (tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda"]>>) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda"]>>
  %lv1 = "relax.to_vdevice"(%lv) {dst_vdevice = "cuda:1"} : (tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda"]>>) -> tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:1"]>>
  return %lv1 : tensor<2x?xf32, #relax.placed<[2, "n"], ["vdevice", "cuda:1"]>>
}
