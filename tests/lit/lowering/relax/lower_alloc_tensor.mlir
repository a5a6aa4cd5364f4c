// RUN: relax-opt %s --relax-lower-alloc-tensor | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %storage = "relax.memory_alloc_storage"(%{{.*}}) : (!relax.shape<["n * 4"], 1 : i64>) -> !relax.object
// CHECK: %a = "relax.memory_alloc_tensor"(%storage, %{{.*}}, %{{.*}}) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<["n"], 1 : i64>) -> tensor<?xf32, #relax.dims<["n"]>>
// CHECK: return %a
func.func @main(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<["n"], 1 : i64>
  %a = "relax.builtin_alloc_tensor"(%s) {dtype = "float32"} : (!relax.shape<["n"], 1 : i64>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %a : tensor<?xf32, #relax.dims<["n"]>>
}
