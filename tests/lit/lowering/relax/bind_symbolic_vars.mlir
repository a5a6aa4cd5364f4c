// RUN: relax-opt %s --relax-bind-symbolic-vars="values=n:16,m:k*2" | FileCheck %s
// RUN: not relax-opt %s --relax-bind-symbolic-vars="values=q:1 func-name=main" 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not relax-opt %s --relax-bind-symbolic-vars=values=n:-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// ERROR: error: pass 'relax-bind-symbolic-vars' failed: function 'main' has no symbol 'q'
// NEGATIVE: error: pass 'relax-bind-symbolic-vars' failed: symbol 'n' cannot be -1: sizes are not negative

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %x: tensor<16x4xf32> {relax.name = "x"}, %y: tensor<?xf32, #relax.dims<["k * 2"]>>
// CHECK-SAME: -> tensor<64xf32>
// CHECK: %f = "relax.flatten"(%x) : (tensor<16x4xf32>) -> tensor<64xf32>
func.func @main(%x: tensor<?x4xf32, #relax.dims<["n", 4]>> {relax.name = "x"}, %y: tensor<?xf32, #relax.dims<["m"]>> {relax.name = "y"}) -> tensor<?xf32, #relax.dims<["n * 4"]>> attributes {relax.attrs = {}} {
  %f = "relax.flatten"(%x) : (tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?xf32, #relax.dims<["n * 4"]>>
  return %f : tensor<?xf32, #relax.dims<["n * 4"]>>
}
