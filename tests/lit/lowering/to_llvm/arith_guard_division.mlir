// RUN: relax-opt --pass-pipeline='builtin.module(arith-guard-division)' %s | FileCheck %s

// A signed division by an unknown divisor: 0 gives 0, -1 negates.
// CHECK-LABEL: func.func @signed(
// CHECK:         [[BY_ZERO:%.+]] = arith.cmpi eq, %arg1
// CHECK:         [[BY_MINUS_ONE:%.+]] = arith.cmpi eq, %arg1
// CHECK:         [[NEGATED:%.+]] = arith.subi
// CHECK:         [[DIVIDEND:%.+]] = arith.select [[BY_MINUS_ONE]], [[NEGATED]], %arg0
// CHECK:         [[UNSAFE:%.+]] = arith.ori [[BY_ZERO]], [[BY_MINUS_ONE]]
// CHECK:         [[SAFE_DIVIDEND:%.+]] = arith.select [[BY_ZERO]], %{{.+}}, [[DIVIDEND]]
// CHECK:         [[DIVISOR:%.+]] = arith.select [[UNSAFE]], %{{.+}}, %arg1
// CHECK:         arith.divsi [[SAFE_DIVIDEND]], [[DIVISOR]]
func.func @signed(%arg0: i32, %arg1: i32) -> i32 {
  %0 = arith.divsi %arg0, %arg1 : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @unsigned_vector(
// CHECK:         [[BY_ZERO:%.+]] = arith.cmpi eq, %arg1, %{{.+}} : vector<4xi8>
// CHECK-NOT:     arith.ori
// CHECK:         arith.remui
func.func @unsigned_vector(%arg0: vector<4xi8>, %arg1: vector<4xi8>) -> vector<4xi8> {
  %0 = arith.remui %arg0, %arg1 : vector<4xi8>
  return %0 : vector<4xi8>
}

// A constant divisor needs no guard.
// CHECK-LABEL: func.func @constant(
// CHECK-NOT:     arith.select
// CHECK:         arith.floordivsi %arg0
func.func @constant(%arg0: i32) -> i32 {
  %c7 = arith.constant 7 : i32
  %0 = arith.floordivsi %arg0, %c7 : i32
  return %0 : i32
}
