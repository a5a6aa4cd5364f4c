// RUN: relax-opt %s --relax-canonicalize-bindings | FileCheck %s

// `gv = lv` disappears; lv's definition takes the name that leaves the block.
// CHECK-LABEL: func.func @alias(
// CHECK-NEXT: %gv = "relax.dataflow"() ({
// CHECK-NEXT: %[[GV:gv_[0-9]+]] = "relax.exp"(%x)
// CHECK-NEXT: "relax.output"(%[[GV]])
// CHECK-NOT: relax.bind
// CHECK: return %gv
func.func @alias(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv = "relax.dataflow"() ({
    %lv = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %gv = "relax.bind"(%lv) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%gv) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  %y = "relax.bind"(%gv) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Fields of a tuple that is made here are its operands, and a tuple put together again is itself.
// CHECK-LABEL: func.func @tuples(
// CHECK: "relax.negative"(%x)
// CHECK: return %t
func.func @tuples(%t: tuple<tensor<4xf32>, tensor<4xf32>> {relax.name = "t"}, %x: tensor<4xf32> {relax.name = "x"}) -> tuple<tensor<4xf32>, tensor<4xf32>> attributes {relax.attrs = {}} {
  %pair = "relax.tuple"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %x1 = "relax.tuple_get_item"(%pair) {index = 1} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %y = "relax.negative"(%x1) : (tensor<4xf32>) -> tensor<4xf32>
  %unused = "relax.tuple"(%y) : (tensor<4xf32>) -> tuple<tensor<4xf32>>
  %a = "relax.tuple_get_item"(%t) {index = 0} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %b = "relax.tuple_get_item"(%t) {index = 1} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %again = "relax.tuple"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  return %again : tuple<tensor<4xf32>, tensor<4xf32>>
}

// Results that come from outside the block, or are never used, are no results of it.
// CHECK-LABEL: func.func @outputs(
// CHECK: %{{.*}} = "relax.dataflow"() ({
// CHECK: "relax.output"(%a) : (tensor<4xf32>) -> ()
// CHECK-NEXT: }) : () -> tensor<4xf32>
// CHECK-NEXT: "relax.add"(%{{.*}}, %x)
func.func @outputs(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> attributes {relax.attrs = {}} {
  %gv:3 = "relax.dataflow"() ({
    %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%a, %b, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) : () -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %r = "relax.add"(%gv#0, %gv#2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// A cast that checks something stays; so does a name for a less precise type.
// CHECK-LABEL: func.func @casts(
// CHECK: %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<4xf32>
// CHECK-NEXT: %z = "relax.bind"(%y) : (tensor<4xf32>) -> tensor<?xf32>
// CHECK-NEXT: return %z
func.func @casts(%x: tensor<?xf32> {relax.name = "x"}) -> tensor<?xf32> attributes {relax.attrs = {}} {
  %y = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  %y1 = "relax.match_cast"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %z = "relax.bind"(%y1) : (tensor<4xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
