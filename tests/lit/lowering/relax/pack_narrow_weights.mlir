// REQUIRES: avx512_vnni
// RUN: relax-opt %s --relax-pack-narrow-weights | FileCheck %s

// A product of unsigned bytes takes its weight in groups of four along K; signed bytes are shifted,
// and what that adds is taken off.
// CHECK: func.func private @matmul_groups(%{{.*}}: memref<3x16xi8> {{.*}}, %{{.*}}: memref<1x4x16x4xi8>
// CHECK-LABEL: func.func @products
// CHECK-NOT: tensor<16x16xi8>
// CHECK: %[[W:.*]] = "relax.constant"() {{.*}} tensor<1x4x16x4xi8>
// CHECK: "relax.call_tir"(%x, %[[W]]) {callee = @matmul_groups
// CHECK: %[[U:.*]] = "relax.astype"(%y) {dtype = "uint8"}
// CHECK: %[[S:.*]] = "relax.bitwise_xor"(%[[U]],
// CHECK: %[[P:.*]] = "relax.call_tir"(%[[S]], %{{.*}}) {callee = @matmul_groups
// CHECK: %[[C:.*]] = "relax.constant"() {value = dense<4096> : tensor<16xi32>}
// CHECK: "relax.subtract"(%[[P]], %[[C]])
// CHECK-NOT: "relax.matmul"
func.func @products(%x: tensor<3x16xui8> {relax.name = "x"}, %y: tensor<3x16xi8> {relax.name = "y"}) -> tensor<3x16xi32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<2> : tensor<16x16xi8>} : () -> tensor<16x16xi8>
    %a = "relax.matmul"(%x, %w) {out_dtype = "int32"} : (tensor<3x16xui8>, tensor<16x16xi8>) -> tensor<3x16xi32>
    %b = "relax.matmul"(%y, %w) {out_dtype = "int32"} : (tensor<3x16xi8>, tensor<16x16xi8>) -> tensor<3x16xi32>
    %c = "relax.add"(%a, %b) : (tensor<3x16xi32>, tensor<3x16xi32>) -> tensor<3x16xi32>
    "relax.output"(%c) : (tensor<3x16xi32>) -> ()
  }) : () -> tensor<3x16xi32>
  return %0 : tensor<3x16xi32>
}

// A weight that is an argument is packed by the kernel.
// CHECK-LABEL: func.func @argument
// CHECK: "relax.matmul"
func.func @argument(%x: tensor<3x16xui8> {relax.name = "x"}, %w: tensor<16x16xi8> {relax.name = "w"}) -> tensor<3x16xi32> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %a = "relax.matmul"(%x, %w) {out_dtype = "int32"} : (tensor<3x16xui8>, tensor<16x16xi8>) -> tensor<3x16xi32>
    "relax.output"(%a) : (tensor<3x16xi32>) -> ()
  }) : () -> tensor<3x16xi32>
  return %0 : tensor<3x16xi32>
}
