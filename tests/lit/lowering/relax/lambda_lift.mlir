// RUN: relax-opt %s --relax-lambda-lift | FileCheck %s

// What the function uses from around it is captured, calls of itself hand it on.
// CHECK-LABEL: func.func private @main_loop(%i: tensor<i32> {relax.name = "i"}, %x: tensor<i32> {relax.name = "x"})
// CHECK: "relax.call"(%next, %x) {callee = @main_loop}
// CHECK-LABEL: func.func @main(
// CHECK: %loop = "relax.make_closure"(%x) {callee = @main_loop}
// CHECK: %r = "relax.invoke_pure_closure"(%loop, %x)
func.func @main(%x: tensor<i32> {relax.name = "x"}) -> tensor<i32> attributes {relax.attrs = {}} {
  %loop = "relax.local_function"() ({
  ^bb0(%self: (tensor<i32>) -> tensor<i32>, %i: tensor<i32>):
    %next = "relax.add"(%i, %x) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %r = "relax.call_value"(%self, %next) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32>
    "relax.yield"(%r) : (tensor<i32>) -> ()
  }) {recursive} : () -> ((tensor<i32>) -> tensor<i32>)
  %r = "relax.call_value"(%loop, %x) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// A function that captures nothing is called directly; as a value it is a reference.
// CHECK-LABEL: func.func private @plain_double(
// CHECK-LABEL: func.func @plain(
// CHECK: %double = "relax.function_ref"() {callee = @plain_double}
// CHECK: %r = "relax.call"(%x) {callee = @plain_double}
// CHECK: "relax.tuple"(%double, %r)
func.func @plain(%x: tensor<2xf32> {relax.name = "x"}) -> tuple<(tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>>
    attributes {relax.attrs = {}} {
  %double = "relax.local_function"() ({
  ^bb0(%y: tensor<2xf32>):
    %z = "relax.add"(%y, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.yield"(%z) : (tensor<2xf32>) -> ()
  }) : () -> ((tensor<2xf32>) -> tensor<2xf32>)
  %r = "relax.call_value"(%double, %x) : ((tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %t = "relax.tuple"(%double, %r) : ((tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>) -> tuple<(tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<(tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>>
}

// A symbol that no parameter gives the value of comes as a shape; constants are made again.
// CHECK-LABEL: func.func private @sized_fill(%w: tensor<f32> {relax.name = "w"}, %n_size: !relax.shape<["n"], 1 : i64> {relax.name = "n_size"})
// CHECK: "relax.shape_expr"() : () -> !relax.shape<["n"], 1 : i64>
// CHECK: "relax.full"
// CHECK-LABEL: func.func @sized(
// CHECK: "relax.make_closure"(%{{.*}}) {callee = @sized_fill} : (!relax.shape<["n"], 1 : i64>)
func.func @sized(%x: tensor<?xf32, #relax.dims<["n"]>> {relax.name = "x"}, %v: tensor<f32> {relax.name = "v"})
    -> tensor<?xf32, #relax.dims<["n"]>> attributes {relax.attrs = {}} {
  %s = "relax.shape_expr"() : () -> !relax.shape<["n"], 1 : i64>
  %fill = "relax.local_function"() ({
  ^bb0(%w: tensor<f32>):
    %z = "relax.full"(%s, %w) : (!relax.shape<["n"], 1 : i64>, tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>
    "relax.yield"(%z) : (tensor<?xf32, #relax.dims<["n"]>>) -> ()
  }) : () -> ((tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>)
  %r = "relax.call_value"(%fill, %v) : ((tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>, tensor<f32>) -> tensor<?xf32, #relax.dims<["n"]>>
  return %r : tensor<?xf32, #relax.dims<["n"]>>
}
