// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @ewise_fma(
// CHECK: "relax.ewise_fma"(%x0, %x1, %x2) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
func.func @ewise_fma(%x0: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x1: tensor<?x4xf32, #relax.dims<["n", 4]>>, %x2: tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>> attributes {relax.attrs = {}} {
  %gv = "relax.ewise_fma"(%x0, %x1, %x2) : (tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>, tensor<?x4xf32, #relax.dims<["n", 4]>>) -> tensor<?x4xf32, #relax.dims<["n", 4]>>
  return %gv : tensor<?x4xf32, #relax.dims<["n", 4]>>
}
