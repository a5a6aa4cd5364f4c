// RUN: relax-opt %s --split-input-file --relax-legalize-ops | FileCheck %s
// RUN: relax-opt %s --split-input-file --relax-legalize-ops --relax-legalize-ops | FileCheck %s

// Functions are named after the operator, numbered in order of appearance and shared where they do
// the same; a constant scalar becomes a number inside.

// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %x: memref<?x4xf32> {tir.name = "x", tir.shape = ["n", 4], tir.shape_dtype = "int64"}
// CHECK-SAME: %T_add: memref<?x4xf32>
// CHECK-SAME: attributes {tir.attrs = {tir.noalias = true}}
// CHECK: %cst = arith.constant 2.500000e+00 : f32
// CHECK: arith.addf %{{.*}}, %cst : f32
// CHECK: sym_name = "T_add"
// CHECK-LABEL: func.func private @add1(
// CHECK-SAME: %lv: memref<?x4xf32>
// CHECK-SAME: %x: memref<?x4xf32>
// CHECK-LABEL: func.func private @tir_exp(
// CHECK: math.exp
// CHECK-NOT: func.func private
// CHECK-LABEL: func.func @main(
// CHECK: %lv = "relax.call_tir"(%x) {callee = @add}
// CHECK: %lv1 = "relax.call_tir"(%lv, %x) {callee = @add1}
// CHECK: %lv2 = "relax.call_tir"(%x, %lv1) {callee = @add1}
// CHECK: %lv3 = "relax.call_tir"(%lv2) {callee = @tir_exp}
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %c = "relax.constant"() {value = dense<2.5> : tensor<f32>} : () -> tensor<f32>
  %lv = "relax.add"(%x, %c) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<f32>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %lv1 = "relax.add"(%lv, %x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %lv2 = "relax.add"(%x, %lv1) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  %lv3 = "relax.exp"(%lv2) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %lv3 : tensor<?x4xf32, #relax.dims<["n", 4]>>
}

// -----

// A symbol that no buffer has as a plain dimension is a scalar parameter, given through tir_vars.

// CHECK-LABEL: func.func private @tir_tanh(
// CHECK-SAME: %n: i64
// CHECK-LABEL: func.func @symbol(
// CHECK: %[[N:.*]] = "relax.shape_expr"() : () -> !relax.shape<["n"], 1 : i64>
// CHECK: "relax.call_tir"(%x, %[[N]]) {callee = @tir_tanh}
func.func @symbol(%x: tensor<?xf32, #relax.dims<["n * 2"]>> {relax.name = "x"}, %s: !relax.shape<["n"], 1 : i64> {relax.name = "s"}) -> tensor<?xf32, #relax.dims<["n * 2"]>> attributes {relax.attrs = {}} {
  %lv = "relax.tanh"(%x) : (tensor<?xf32, #relax.dims<["n * 2"]>>) -> tensor<?xf32, #relax.dims<["n * 2"]>>
  return %lv : tensor<?xf32, #relax.dims<["n * 2"]>>
}

// -----

// Several outputs make a tuple; operators in dataflow blocks and branches are replaced too.

// CHECK-LABEL: func.func private @split(
// CHECK-LABEL: func.func private @relu(
// CHECK-LABEL: func.func private @tir_negative(
// CHECK-LABEL: func.func @nested(
// CHECK: "relax.dataflow"() ({
// CHECK: %lv = "relax.call_tir"(%x) {callee = @split} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK: "relax.if"(%c) ({
// CHECK: "relax.call_tir"({{.*}}) {callee = @relu}
// CHECK: "relax.call_tir"({{.*}}) {callee = @tir_negative}
func.func @nested(%x: tensor<4xf32> {relax.name = "x"}, %c: tensor<i1> {relax.name = "c"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.split"(%x) {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
    %lv1 = "relax.tuple_get_item"(%lv) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
    "relax.output"(%lv1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  %r = "relax.if"(%c) ({
    %a = "relax.nn_relu"(%gv) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.yield"(%a) : (tensor<2xf32>) -> ()
  }, {
    %b = "relax.negative"(%gv) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.yield"(%b) : (tensor<2xf32>) -> ()
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// Sizes that only run time knows get symbols; an operand of unknown rank stays, and so does what is
// named in skip-ops below.

// CHECK-LABEL: func.func @sizes(
// CHECK: %[[KNOWN:.*]] = "relax.match_cast"(%x) : (tensor<?x4xf32>) -> tensor<?x?xf32, #relax.dims<["x_0", "x_1"]>>
// CHECK: "relax.broadcast_shapes"
// CHECK: "relax.call_tir"({{.*}}) {callee = @add
// CHECK-LABEL: func.func @unknown(
// CHECK: "relax.add"(%x, %y)
func.func @sizes(%x: tensor<?x4xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<?x?xf32> attributes {relax.attrs = {}} {
  %lv = "relax.add"(%x, %y) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x?xf32>
  return %lv : tensor<?x?xf32>
}
func.func @unknown(%x: tensor<*xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<*xf32> attributes {relax.attrs = {}} {
  %lv = "relax.add"(%x, %y) : (tensor<*xf32>, tensor<4xf32>) -> tensor<*xf32>
  return %lv : tensor<*xf32>
}

