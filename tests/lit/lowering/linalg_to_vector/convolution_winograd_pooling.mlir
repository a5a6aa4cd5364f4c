// RUN: relax-opt %s --pass-pipeline="builtin.module(relax-transform-convolution-weights,relax-zero,relax-fuse-image-chains,relax-fuse-tir,tir-to-linalg,linalg-to-vector{vector-width=512})" | FileCheck %s

// Windows of 2x2 lie in the tiles of 4x4 that F(4,3) computes: four maxima of four values each, of
// which none but the maxima is stored.  Nothing has the size of the image, 28x28x32, any more.
// CHECK-LABEL: func.func private @fused_conv2d_winograd_max_pool2d
// CHECK-SAME: %pool_max_intermediate: memref<1x14x14x32xf32>
// CHECK-NOT: memref<1x28x28x32xf32>
// CHECK: memref.reinterpret_cast %pool_max_intermediate {{.*}} to memref<6272xf32>
// CHECK-COUNT-3: arith.maximumf
// CHECK-NOT: arith.maximumf
// CHECK: vector.store %{{.*}} : memref<6272xf32>, vector<16xf32>
// CHECK-NOT: memref<1x28x28x32xf32>
// CHECK-NOT: linalg
// CHECK: return
func.func @main(%x: tensor<1x28x28x64xf32> {relax.name = "x"}) -> tensor<1x14x14x32xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %w = "relax.constant"() {value = dense<0.01> : tensor<3x3x64x32xf32>} : () -> tensor<3x3x64x32xf32>
    %c = "relax.nn_conv2d"(%x, %w) {data_layout = "NHWC", kernel_layout = "HWIO", padding = 1 : i64} : (tensor<1x28x28x64xf32>, tensor<3x3x64x32xf32>) -> tensor<1x28x28x32xf32>
    %p = "relax.nn_max_pool2d"(%c) {layout = "NHWC", pool_size = [2, 2], strides = [2, 2]} : (tensor<1x28x28x32xf32>) -> tensor<1x14x14x32xf32>
    "relax.output"(%p) : (tensor<1x14x14x32xf32>) -> ()
  }) : () -> tensor<1x14x14x32xf32>
  return %gv : tensor<1x14x14x32xf32>
}
