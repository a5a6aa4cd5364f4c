// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @collectives(
// CHECK: "relax.ccl_allreduce"(%x) {op_type = "max"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK: "relax.ccl_allgather"(%a) {num_workers = 2 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
// CHECK: "relax.ccl_broadcast_from_worker0"(%b) : (tensor<8x6xf32>) -> tensor<8x6xf32>
// CHECK: "relax.ccl_scatter_from_worker0"(%c) {axis = 1 : i64, num_workers = 3 : i64} : (tensor<8x6xf32>) -> tensor<8x2xf32>
func.func @collectives(%x: tensor<4x6xf32> {relax.name = "x"}) -> tensor<8x2xf32> attributes {relax.attrs = {}} {
  %a = "relax.ccl_allreduce"(%x) {op_type = "max"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = "relax.ccl_allgather"(%a) {num_workers = 2 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %c = "relax.ccl_broadcast_from_worker0"(%b) : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %d = "relax.ccl_scatter_from_worker0"(%c) {axis = 1 : i64, num_workers = 3 : i64} : (tensor<8x6xf32>) -> tensor<8x2xf32>
  return %d : tensor<8x2xf32>
}

// CHECK-LABEL: func.func @meshes(
// CHECK-SAME: %x: tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "S[0]"]>>
// CHECK: "relax.dist_redistribute"(%x) {device_mesh = "mesh[0]", placement = "R"}
// CHECK: "relax.dist_annotate_sharding"(%a) {device_mesh = "mesh[1]", placement = "R"}
func.func @meshes(%x: tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "S[0]"]>> {relax.name = "x"}) -> tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "R"]>> attributes {relax.attrs = {}} {
  %a = "relax.dist_redistribute"(%x) {device_mesh = "mesh[0]", placement = "R"} : (tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "S[0]"]>>) -> tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "R"]>>
  %b = "relax.dist_annotate_sharding"(%a) {device_mesh = "mesh[1]", placement = "R"} : (tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "R"]>>) -> tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "R"]>>
  return %b : tensor<4xf32, #relax.placed<[4], ["mesh", "mesh[0]", "R"]>>
}

// CHECK-LABEL: func.func @shards(
// CHECK: "relax.dist_redistribute_replica_to_shard"(%x) {axis = 0 : i64, num_workers = 4 : i64} : (tensor<8xf32>) -> tensor<2xf32>
func.func @shards(%x: tensor<8xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %a = "relax.dist_redistribute_replica_to_shard"(%x) {axis = 0 : i64, num_workers = 4 : i64} : (tensor<8xf32>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
