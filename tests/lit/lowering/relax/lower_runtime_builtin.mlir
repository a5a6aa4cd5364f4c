// RUN: relax-opt %s --relax-lower-runtime-builtin | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %storage = "relax.vm_alloc_storage"
// CHECK: %a = "relax.vm_alloc_tensor"(%storage, %o, %t) {dtype = "float32"}
// CHECK: "relax.vm_kill_object"(%storage)
// CHECK: return %a
func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<[16], 1 : i64>
  %storage = "relax.memory_alloc_storage"(%s) : (!relax.shape<[16], 1 : i64>) -> !relax.object
  %o = "relax.prim_value"() : () -> !relax.prim<i64, "0">
  %t = "relax.shape_expr"() : () -> !relax.shape<[4], 1 : i64>
  %a = "relax.memory_alloc_tensor"(%storage, %o, %t) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[4], 1 : i64>) -> tensor<4xf32>
  %k = "relax.memory_kill_storage"(%storage) : (!relax.object) -> tuple<>
  return %a : tensor<4xf32>
}
