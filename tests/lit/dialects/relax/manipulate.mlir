// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @permute_dims(
// CHECK: "relax.permute_dims"(%x) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<5x4x?xf32, #relax.dims<[5, 4, "n"]>>
func.func @permute_dims(%x: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<5x4x?xf32, #relax.dims<[5, 4, "n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.permute_dims"(%x) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<5x4x?xf32, #relax.dims<[5, 4, "n"]>>
  return %gv : tensor<5x4x?xf32, #relax.dims<[5, 4, "n"]>>
}

// CHECK-LABEL: func.func @permute_dims_1(
// CHECK: "relax.permute_dims"(%x) {axes = array<i64: 0, -1, 1>} : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>>
func.func @permute_dims_1(%x: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.permute_dims"(%x) {axes = array<i64: 0, -1, 1>} : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>>
  return %gv : tensor<?x5x4xf32, #relax.dims<["n", 5, 4]>>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[-1, 8], 2 : i64>) -> tensor<?x8xf32, #relax.dims<["n * 3", 8]>>
func.func @reshape(%x0: tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, %x1: !relax.shape<[-1, 8], 2 : i64>) -> tensor<?x8xf32, #relax.dims<["n * 3", 8]>> attributes {relax.attrs = {}} {
  %gv = "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[-1, 8], 2 : i64>) -> tensor<?x8xf32, #relax.dims<["n * 3", 8]>>
  return %gv : tensor<?x8xf32, #relax.dims<["n * 3", 8]>>
}

// CHECK-LABEL: func.func @reshape_1(
// CHECK: "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[0, -1], 2 : i64>) -> tensor<?x24xf32, #relax.dims<["n", 24]>>
func.func @reshape_1(%x0: tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, %x1: !relax.shape<[0, -1], 2 : i64>) -> tensor<?x24xf32, #relax.dims<["n", 24]>> attributes {relax.attrs = {}} {
  %gv = "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[0, -1], 2 : i64>) -> tensor<?x24xf32, #relax.dims<["n", 24]>>
  return %gv : tensor<?x24xf32, #relax.dims<["n", 24]>>
}

// CHECK-LABEL: func.func @reshape_2(
// CHECK: "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[24, "n"], 2 : i64>) -> tensor<24x?xf32, #relax.dims<[24, "n"]>>
func.func @reshape_2(%x0: tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, %x1: !relax.shape<[24, "n"], 2 : i64>) -> tensor<24x?xf32, #relax.dims<[24, "n"]>> attributes {relax.attrs = {}} {
  %gv = "relax.reshape"(%x0, %x1) : (tensor<?x4x6xf32, #relax.dims<["n", 4, 6]>>, !relax.shape<[24, "n"], 2 : i64>) -> tensor<24x?xf32, #relax.dims<[24, "n"]>>
  return %gv : tensor<24x?xf32, #relax.dims<[24, "n"]>>
}

// CHECK-LABEL: func.func @flatten(
// CHECK: "relax.flatten"(%x) : (tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>) -> tensor<?xf32, #relax.dims<["n * 30"]>>
func.func @flatten(%x: tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>) -> tensor<?xf32, #relax.dims<["n * 30"]>> attributes {relax.attrs = {}} {
  %gv = "relax.flatten"(%x) : (tensor<?x5x6xf32, #relax.dims<["n", 5, 6]>>) -> tensor<?xf32, #relax.dims<["n * 30"]>>
  return %gv : tensor<?xf32, #relax.dims<["n * 30"]>>
}

// CHECK-LABEL: func.func @flatten_1(
// CHECK: "relax.flatten"(%x) : (tensor<f32>) -> tensor<1xf32>
func.func @flatten_1(%x: tensor<f32>) -> tensor<1xf32> attributes {relax.attrs = {}} {
  %gv = "relax.flatten"(%x) : (tensor<f32>) -> tensor<1xf32>
  return %gv : tensor<1xf32>
}

// CHECK-LABEL: func.func @nn_batch_flatten(
// CHECK: "relax.nn_batch_flatten"(%x) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
func.func @nn_batch_flatten(%x: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x20xf32, #relax.dims<["n", 20]>> attributes {relax.attrs = {}} {
  %gv = "relax.nn_batch_flatten"(%x) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>) -> tensor<?x20xf32, #relax.dims<["n", 20]>>
  return %gv : tensor<?x20xf32, #relax.dims<["n", 20]>>
}

// CHECK-LABEL: func.func @expand_dims(
// CHECK: "relax.expand_dims"(%x) {axis = array<i64: 0, -1>} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<1x?x5x1xf32, #relax.dims<[1, "n", 5, 1]>>
func.func @expand_dims(%x: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<1x?x5x1xf32, #relax.dims<[1, "n", 5, 1]>> attributes {relax.attrs = {}} {
  %gv = "relax.expand_dims"(%x) {axis = array<i64: 0, -1>} : (tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<1x?x5x1xf32, #relax.dims<[1, "n", 5, 1]>>
  return %gv : tensor<1x?x5x1xf32, #relax.dims<[1, "n", 5, 1]>>
}

// CHECK-LABEL: func.func @squeeze(
// CHECK: "relax.squeeze"(%x) {axis = array<i64: 1>} : (tensor<?x1x6xf32, #relax.dims<["n", 1, 6]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
func.func @squeeze(%x: tensor<?x1x6xf32, #relax.dims<["n", 1, 6]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>> attributes {relax.attrs = {}} {
  %gv = "relax.squeeze"(%x) {axis = array<i64: 1>} : (tensor<?x1x6xf32, #relax.dims<["n", 1, 6]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
  return %gv : tensor<?x6xf32, #relax.dims<["n", 6]>>
}

// CHECK-LABEL: func.func @squeeze_1(
// CHECK: "relax.squeeze"(%x) : (tensor<1x4x1xf32>) -> tensor<4xf32>
func.func @squeeze_1(%x: tensor<1x4x1xf32>) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.squeeze"(%x) : (tensor<1x4x1xf32>) -> tensor<4xf32>
  return %gv : tensor<4xf32>
}

// CHECK-LABEL: func.func @broadcast_to(
// CHECK: "relax.broadcast_to"(%x0, %x1) : (tensor<?x1xf32, #relax.dims<["n", 1]>>, !relax.shape<[3, "n", 5], 3 : i64>) -> tensor<3x?x5xf32, #relax.dims<[3, "n", 5]>>
func.func @broadcast_to(%x0: tensor<?x1xf32, #relax.dims<["n", 1]>>, %x1: !relax.shape<[3, "n", 5], 3 : i64>) -> tensor<3x?x5xf32, #relax.dims<[3, "n", 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.broadcast_to"(%x0, %x1) : (tensor<?x1xf32, #relax.dims<["n", 1]>>, !relax.shape<[3, "n", 5], 3 : i64>) -> tensor<3x?x5xf32, #relax.dims<[3, "n", 5]>>
  return %gv : tensor<3x?x5xf32, #relax.dims<[3, "n", 5]>>
}

// CHECK-LABEL: func.func @concat(
// CHECK: "relax.concat"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x4xf32, #relax.dims<["m + n", 4]>>
func.func @concat(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x4xf32, #relax.dims<["m + n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.concat"(%x0, %x1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["m", 4]>>) -> tensor<?x4xf32, #relax.dims<["m + n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["m + n", 4]>>
}

// CHECK-LABEL: func.func @concat_1(
// CHECK: "relax.concat"(%x0, %x1) {axis} : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
func.func @concat_1(%x0: tensor<3xf32>, %x1: tensor<4xf32>) -> tensor<7xf32> attributes {relax.attrs = {}} {
  %gv = "relax.concat"(%x0, %x1) {axis} : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  return %gv : tensor<7xf32>
}

// CHECK-LABEL: func.func @stack(
// CHECK: "relax.stack"(%x0, %x1) {axis = 1 : i64} : (tensor<?x5xf32, #relax.dims<["n", 5]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x2x5xf32, #relax.dims<["n", 2, 5]>>
func.func @stack(%x0: tensor<?x5xf32, #relax.dims<["n", 5]>>, %x1: tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x2x5xf32, #relax.dims<["n", 2, 5]>> attributes {relax.attrs = {}} {
  %gv = "relax.stack"(%x0, %x1) {axis = 1 : i64} : (tensor<?x5xf32, #relax.dims<["n", 5]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>) -> tensor<?x2x5xf32, #relax.dims<["n", 2, 5]>>
  return %gv : tensor<?x2x5xf32, #relax.dims<["n", 2, 5]>>
}

// CHECK-LABEL: func.func @split(
// CHECK: "relax.split"(%x) {indices_or_sections = 3 : i64} : (tensor<10x4xf32>) -> tuple<tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>>
func.func @split(%x: tensor<10x4xf32>) -> tuple<tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>> attributes {relax.attrs = {}} {
  %gv = "relax.split"(%x) {indices_or_sections = 3 : i64} : (tensor<10x4xf32>) -> tuple<tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>>
  return %gv : tuple<tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>>
}

// CHECK-LABEL: func.func @split_1(
// CHECK: "relax.split"(%x) {axis = 1 : i64, indices_or_sections = array<i64: 2, 5>} : (tensor<?x10xf32, #relax.dims<["n", 10]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>>
func.func @split_1(%x: tensor<?x10xf32, #relax.dims<["n", 10]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>> attributes {relax.attrs = {}} {
  %gv = "relax.split"(%x) {axis = 1 : i64, indices_or_sections = array<i64: 2, 5>} : (tensor<?x10xf32, #relax.dims<["n", 10]>>) -> tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>>
  return %gv : tuple<tensor<?x2xf32, #relax.dims<["n", 2]>>, tensor<?x3xf32, #relax.dims<["n", 3]>>, tensor<?x5xf32, #relax.dims<["n", 5]>>>
}

// CHECK-LABEL: func.func @repeat(
// CHECK: "relax.repeat"(%x) {repeats = 3 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?xf32, #relax.dims<["n * 6"]>>
func.func @repeat(%x: tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?xf32, #relax.dims<["n * 6"]>> attributes {relax.attrs = {}} {
  %gv = "relax.repeat"(%x) {repeats = 3 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?xf32, #relax.dims<["n * 6"]>>
  return %gv : tensor<?xf32, #relax.dims<["n * 6"]>>
}

// CHECK-LABEL: func.func @repeat_1(
// CHECK: "relax.repeat"(%x) {axis = -1 : i64, repeats = 3 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
func.func @repeat_1(%x: tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>> attributes {relax.attrs = {}} {
  %gv = "relax.repeat"(%x) {axis = -1 : i64, repeats = 3 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x6xf32, #relax.dims<["n", 6]>>
  return %gv : tensor<?x6xf32, #relax.dims<["n", 6]>>
}

// CHECK-LABEL: func.func @tile(
// CHECK: "relax.tile"(%x) {repeats = array<i64: 2, 3, 4>} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<2x?x8xf32, #relax.dims<[2, "n * 3", 8]>>
func.func @tile(%x: tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<2x?x8xf32, #relax.dims<[2, "n * 3", 8]>> attributes {relax.attrs = {}} {
  %gv = "relax.tile"(%x) {repeats = array<i64: 2, 3, 4>} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<2x?x8xf32, #relax.dims<[2, "n * 3", 8]>>
  return %gv : tensor<2x?x8xf32, #relax.dims<[2, "n * 3", 8]>>
}

// CHECK-LABEL: func.func @flip(
// CHECK: "relax.flip"(%x) {axis = 1 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
func.func @flip(%x: tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>> attributes {relax.attrs = {}} {
  %gv = "relax.flip"(%x) {axis = 1 : i64} : (tensor<?x2xf32, #relax.dims<["n", 2]>>) -> tensor<?x2xf32, #relax.dims<["n", 2]>>
  return %gv : tensor<?x2xf32, #relax.dims<["n", 2]>>
}

// CHECK-LABEL: func.func @reverse_sequence(
// CHECK: "relax.reverse_sequence"(%x0, %x1) {batch_axis = 1 : i64, seq_axis = 0 : i64} : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8xi64>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
func.func @reverse_sequence(%x0: tensor<?x8xf32, #relax.dims<["n", 8]>>, %x1: tensor<8xi64>) -> tensor<?x8xf32, #relax.dims<["n", 8]>> attributes {relax.attrs = {}} {
  %gv = "relax.reverse_sequence"(%x0, %x1) {batch_axis = 1 : i64, seq_axis = 0 : i64} : (tensor<?x8xf32, #relax.dims<["n", 8]>>, tensor<8xi64>) -> tensor<?x8xf32, #relax.dims<["n", 8]>>
  return %gv : tensor<?x8xf32, #relax.dims<["n", 8]>>
}

// CHECK-LABEL: func.func @meshgrid(
// CHECK: "relax.meshgrid"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
func.func @meshgrid(%x0: tensor<?xf32, #relax.dims<["n"]>>, %x1: tensor<4xf32>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>> attributes {relax.attrs = {}} {
  %gv = "relax.meshgrid"(%x0, %x1) : (tensor<?xf32, #relax.dims<["n"]>>, tensor<4xf32>) -> tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
  return %gv : tuple<tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>>
}

// CHECK-LABEL: func.func @collapse_sum_to(
// CHECK: "relax.collapse_sum_to"(%x0, %x1) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, !relax.shape<[4, 1], 2 : i64>) -> tensor<4x1xf32>
func.func @collapse_sum_to(%x0: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, %x1: !relax.shape<[4, 1], 2 : i64>) -> tensor<4x1xf32> attributes {relax.attrs = {}} {
  %gv = "relax.collapse_sum_to"(%x0, %x1) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, !relax.shape<[4, 1], 2 : i64>) -> tensor<4x1xf32>
  return %gv : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @collapse_sum_like(
// CHECK: "relax.collapse_sum_like"(%x0, %x1) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, tensor<4x1xf32>) -> tensor<4x1xf32>
func.func @collapse_sum_like(%x0: tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, %x1: tensor<4x1xf32>) -> tensor<4x1xf32> attributes {relax.attrs = {}} {
  %gv = "relax.collapse_sum_like"(%x0, %x1) : (tensor<?x4x5xf32, #relax.dims<["n", 4, 5]>>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %gv : tensor<4x1xf32>
}
