// RUN: relax-opt %s --relax-kill-after-last-use | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %a = "relax.memory_alloc_tensor"(%storage
// CHECK-NEXT: "relax.memory_kill_storage"(%storage)
// CHECK-NEXT: %b = "relax.exp"(%a)
// CHECK-NEXT: "relax.memory_kill_tensor"(%a)
// CHECK-NEXT: return %b
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<[16], 1 : i64>
  %storage = "relax.memory_alloc_storage"(%s) : (!relax.shape<[16], 1 : i64>) -> !relax.object
  %o = "relax.prim_value"() : () -> !relax.prim<i64, "0">
  %t = "relax.shape_expr"() : () -> !relax.shape<[4], 1 : i64>
  %a = "relax.memory_alloc_tensor"(%storage, %o, %t) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %b = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
