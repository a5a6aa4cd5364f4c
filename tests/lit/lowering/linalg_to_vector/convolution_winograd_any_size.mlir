// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s

// The tiles of an image of any size are numbered row by row.  Chunks of them have buffers of known
// size, for their data and the products of a panel; register tiles of 14, 10 and 8 of them times two
// vectors are there to choose from.
// CHECK-LABEL: func.func private @conv2d_winograd
// CHECK-NOT: linalg
// CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK-DAG: memref.alloc() {alignment = 64 : i64} : memref<{{[0-9]+}}xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} iter_args({{([^,)]*, ){27}[^,)]*}}) -> (vector<16xf32>
// CHECK: scf.for {{.*}} iter_args({{([^,)]*, ){19}[^,)]*}}) -> (vector<16xf32>
// CHECK: scf.for {{.*}} iter_args({{([^,)]*, ){15}[^,)]*}}) -> (vector<16xf32>
// CHECK-NOT: linalg
// CHECK: return
func.func @main(%x: tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>> {relax.name = "x"}) -> tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>> attributes {relax.attrs = {}} {
  %0 = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<1.0> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
    %y = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>, tensor<3x3x64x64xf32>) -> tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>
    "relax.output"(%y) : (tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>) -> ()
  }) : () -> tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>
  return %0 : tensor<1x?x?x64xf32, #relax.dims<[1, "h", "w", 64]>>
}
