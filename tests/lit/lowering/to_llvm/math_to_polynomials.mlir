// RUN: relax-opt %s --math-to-polynomials | FileCheck %s

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.exp
// CHECK-COUNT-8: math.fma {{.*}} : vector<8xf32>
// CHECK: arith.shli
// CHECK: return
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}

// Narrow floats are computed in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: math.tanh
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @narrow(%x: bf16) -> bf16 {
  %y = math.tanh %x : bf16
  return %y : bf16
}

// f64 is left to the library.
// CHECK-LABEL: func.func @double
// CHECK: math.exp %{{.*}} : f64
func.func @double(%x: f64) -> f64 {
  %y = math.exp %x : f64
  return %y : f64
}

// The sine of a large argument takes the library's way in f64.
// CHECK-LABEL: func.func @sine
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: math.sin %{{.*}} : vector<4xf64>
func.func @sine(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.sin %x : vector<4xf32>
  return %y : vector<4xf32>
}
