// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @memory_alloc_storage(
// CHECK: "relax.memory_alloc_storage"(%x0)
func.func @memory_alloc_storage(%x0: !relax.shape<[16], 1 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  %gv = "relax.memory_alloc_storage"(%x0) : (!relax.shape<[16], 1 : i64>) -> !relax.object
  return %gv : !relax.object
}

// CHECK-LABEL: func.func @memory_ensure_zero_offset(
// CHECK: "relax.memory_ensure_zero_offset"(%x0)
func.func @memory_ensure_zero_offset(%x0: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.memory_ensure_zero_offset"(%x0) : (tensor<2xf32>) -> tensor<2xf32>
  return %gv : tensor<2xf32>
}
