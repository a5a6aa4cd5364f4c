// RUN: relax-opt %s --relax-legalize-ops --relax-annotate-tir-op-pattern --relax-fuse-ops --relax-fuse-tir | FileCheck %s

// The fused function calls nothing: the bodies follow one another, what passes between them is
// allocated inside, and the output is named after the last kernel's.
// CHECK-LABEL: func.func private @fused_matmul_add_relu(
// CHECK-SAME: %x: memref<4x8xf32> {tir.name = "x", tir.shape_dtype = "int64"}
// CHECK-SAME: %w: memref<8x4xf32> {tir.name = "w"
// CHECK-SAME: %b: memref<4xf32> {tir.name = "b"
// CHECK-SAME: %compute_intermediate: memref<4x4xf32> {tir.name = "compute_intermediate"
// CHECK-SAME: tir.attrs = {tir.noalias = true}
// CHECK-NEXT: %matmul_intermediate = "tir.alloc_buffer"() {{.*}} -> memref<4x4xf32>
// CHECK-NEXT: %T_add_intermediate = "tir.alloc_buffer"() {{.*}} -> memref<4x4xf32>
// CHECK: "tir.init"
// CHECK: memref.store {{.*}}, %matmul_intermediate
// CHECK: sym_name = "matmul"
// CHECK: memref.load %matmul_intermediate
// CHECK: memref.load %b
// CHECK: memref.store {{.*}}, %T_add_intermediate
// CHECK: sym_name = "T_add"
// CHECK: memref.load %T_add_intermediate
// CHECK: memref.store {{.*}}, %compute_intermediate
// CHECK: sym_name = "compute"

// The kernels are gone, and the dataflow block's output is the call itself.
// CHECK-NOT: func.func private @relu
// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %[[GV:.*]] = "relax.call_tir"(%x, %w, %b) {callee = @fused_matmul_add_relu}
// CHECK-NEXT: "relax.output"(%[[GV]])
func.func @main(%x: tensor<4x8xf32> {relax.name = "x"}, %w: tensor<8x4xf32> {relax.name = "w"}, %b: tensor<4xf32> {relax.name = "b"}) -> tensor<4x4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %lv1 = "relax.add"(%lv, %b) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    %lv2 = "relax.nn_relu"(%lv1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %gv = "relax.bind"(%lv2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "relax.output"(%gv) : (tensor<4x4xf32>) -> ()
  }) : () -> tensor<4x4xf32>
  return %gv : tensor<4x4xf32>
}

// Symbols of the kernels become those of the caller: the size is read from the first parameter
// that has it, and the intermediate is allocated with it.
// CHECK-LABEL: func.func private @fused_add1_relu1(
// CHECK-SAME: %y: memref<?x4xf32> {tir.name = "y", tir.shape = ["batch", 4]
// CHECK: %batch = memref.dim %y
// CHECK: %T_add_intermediate = "tir.alloc_buffer"(%batch) {{.*}}shape = ["batch", 4]
// CHECK: "tir.for"(%batch)
// Blocks of one function have names of their own.
// CHECK: sym_name = "T_add"
func.func @dynamic(%y: tensor<?x4xf32, #relax.dims<["batch", 4]>> {relax.name = "y"}) -> tensor<?x4xf32, #relax.dims<["batch", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.add"(%y, %y) : (tensor<?x4xf32, #relax.dims<["batch", 4]>>, tensor<?x4xf32, #relax.dims<["batch", 4]>>) -> tensor<?x4xf32, #relax.dims<["batch", 4]>>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<?x4xf32, #relax.dims<["batch", 4]>>) -> tensor<?x4xf32, #relax.dims<["batch", 4]>>
    "relax.output"(%lv1) : (tensor<?x4xf32, #relax.dims<["batch", 4]>>) -> ()
  }) : () -> tensor<?x4xf32, #relax.dims<["batch", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["batch", 4]>>
}

// The same kernel twice: block and buffer names are told apart.
// CHECK-LABEL: func.func private @fused_relu2_relu2(
// CHECK-SAME: %compute_intermediate_1: memref<4xf32> {tir.name = "compute_intermediate_1"
// CHECK: %compute_intermediate = "tir.alloc_buffer"()
// CHECK: sym_name = "compute"
// CHECK: sym_name = "compute_1"
func.func @twice(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.nn_relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %lv1 = "relax.nn_relu"(%lv) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%lv1) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %gv : tensor<4xf32>
}
