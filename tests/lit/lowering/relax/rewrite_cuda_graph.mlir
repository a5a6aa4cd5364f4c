// RUN: relax-opt %s --relax-rewrite-cuda-graph | FileCheck %s

// CHECK-LABEL: func.func private @exp(%x: memref<8xf32> {tir.name = "x"}, %y: memref<8xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @cuda_graph_alloc() -> tuple<!relax.object, !relax.object> attributes {relax.attrs = {relax.force_pure = true}} {
// CHECK-NEXT: %size = "relax.shape_expr"() : () -> !relax.shape<[32], 1 : i64>
// CHECK-NEXT: %storage = "relax.memory_alloc_storage"(%size) {dtype = "uint8"} : (!relax.shape<[32], 1 : i64>) -> !relax.object
// CHECK-NEXT: %storage1 = "relax.memory_alloc_storage"(%size) {dtype = "uint8"} : (!relax.shape<[32], 1 : i64>) -> !relax.object
// CHECK-NEXT: %0 = "relax.tuple"(%storage, %storage1) : (!relax.object, !relax.object) -> tuple<!relax.object, !relax.object>
// CHECK-NEXT: return %0 : tuple<!relax.object, !relax.object>
// CHECK-LABEL: func.func private @main_cuda_graph_capture(%a: tensor<8xf32> {relax.name = "a"}, %b: tensor<8xf32> {relax.name = "b"}) -> tuple<> attributes {relax.attrs = {relax.force_pure = true}} {
// CHECK-NEXT: %0 = "relax.call"(%a, %b) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
// CHECK-NEXT: %1 = "relax.call"(%b, %a) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
// CHECK-NEXT: %2 = "relax.tuple"() : () -> tuple<>
// CHECK-NEXT: return %2 : tuple<>
// CHECK-LABEL: func.func @main(%x: tensor<8xf32> {relax.name = "x"}) -> tensor<8xf32> attributes {relax.attrs = {relax.force_pure = true}} {
// CHECK-NEXT: %start = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK-NEXT: %shape = "relax.shape_expr"() : () -> !relax.shape<[8], 1 : i64>
// CHECK-NEXT: %0 = "relax.function_ref"() {callee = @cuda_graph_alloc} : () -> !relax.callable
// CHECK-NEXT: %1 = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK-NEXT: %2 = "relax.call_builtin_with_ctx"(%0, %1) {callee = "vm.builtin.cuda_graph.get_cached_alloc"} : (!relax.callable, !relax.prim<i64, "0">) -> tuple<!relax.object, !relax.object>
// CHECK-NEXT: %storage = "relax.tuple_get_item"(%2) {index = 0 : i64} : (tuple<!relax.object, !relax.object>) -> !relax.object
// CHECK-NEXT: %a = "relax.memory_alloc_tensor"(%storage, %start, %shape) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[8], 1 : i64>) -> tensor<8xf32>
// CHECK-NEXT: %3 = "relax.call"(%x, %a) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
// CHECK-NEXT: %storage1 = "relax.tuple_get_item"(%2) {index = 1 : i64} : (tuple<!relax.object, !relax.object>) -> !relax.object
// CHECK-NEXT: %b = "relax.memory_alloc_tensor"(%storage1, %start, %shape) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[8], 1 : i64>) -> tensor<8xf32>
// CHECK-NEXT: %4 = "relax.function_ref"() {callee = @main_cuda_graph_capture} : () -> !relax.callable
// CHECK-NEXT: %5 = "relax.tuple"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
// CHECK-NEXT: %6 = "relax.prim_value"() : () -> !relax.prim<i64, "0">
// CHECK-NEXT: %7 = "relax.call_builtin_with_ctx"(%4, %5, %6) {callee = "vm.builtin.cuda_graph.run_or_capture"} : (!relax.callable, tuple<tensor<8xf32>, tensor<8xf32>>, !relax.prim<i64, "0">) -> tuple<>
// CHECK-NEXT: %c = "relax.builtin_alloc_tensor"(%shape) {dtype = "float32"} : (!relax.shape<[8], 1 : i64>) -> tensor<8xf32>
// CHECK-NEXT: %8 = "relax.call"(%a, %c) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
// CHECK-NEXT: return %c : tensor<8xf32>
func.func private @exp(%x: memref<8xf32> {tir.name = "x"}, %y: memref<8xf32> {tir.name = "y"}) attributes {tir.attrs = {}} {
  return
}
func.func @main(%x: tensor<8xf32> {relax.name = "x"}) -> tensor<8xf32> attributes {relax.attrs = {relax.force_pure = true}} {
  %size = "relax.shape_expr"() : () -> !relax.shape<[32], 1 : i64>
  %start = "relax.prim_value"() : () -> !relax.prim<i64, "0">
  %shape = "relax.shape_expr"() : () -> !relax.shape<[8], 1 : i64>
  %storage = "relax.memory_alloc_storage"(%size) {dtype = "uint8"} : (!relax.shape<[32], 1 : i64>) -> !relax.object
  %a = "relax.memory_alloc_tensor"(%storage, %start, %shape) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[8], 1 : i64>) -> tensor<8xf32>
  %0 = "relax.call"(%x, %a) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
  %storage1 = "relax.memory_alloc_storage"(%size) {dtype = "uint8"} : (!relax.shape<[32], 1 : i64>) -> !relax.object
  %b = "relax.memory_alloc_tensor"(%storage1, %start, %shape) {dtype = "float32"} : (!relax.object, !relax.prim<i64, "0">, !relax.shape<[8], 1 : i64>) -> tensor<8xf32>
  %1 = "relax.call"(%a, %b) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
  %2 = "relax.call"(%b, %a) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
  %c = "relax.builtin_alloc_tensor"(%shape) {dtype = "float32"} : (!relax.shape<[8], 1 : i64>) -> tensor<8xf32>
  %3 = "relax.call"(%a, %c) {callee = @exp} : (tensor<8xf32>, tensor<8xf32>) -> tuple<>
  return %c : tensor<8xf32>
}
