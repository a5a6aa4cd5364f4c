// RUN: relax-opt %s | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @multinomial_from_uniform(
// CHECK: "relax.multinomial_from_uniform"(%x0, %x1, %x2) : (tensor<2x5xf32>, tensor<?x1xf32, #relax.dims<["n", 1]>>, tensor<?x1xi64, #relax.dims<["n", 1]>>) -> tensor<?x1xi64, #relax.dims<["n", 1]>>
func.func @multinomial_from_uniform(%x0: tensor<2x5xf32>, %x1: tensor<?x1xf32, #relax.dims<["n", 1]>>, %x2: tensor<?x1xi64, #relax.dims<["n", 1]>>) -> tensor<?x1xi64, #relax.dims<["n", 1]>> attributes {relax.attrs = {}} {
  %gv = "relax.multinomial_from_uniform"(%x0, %x1, %x2) : (tensor<2x5xf32>, tensor<?x1xf32, #relax.dims<["n", 1]>>, tensor<?x1xi64, #relax.dims<["n", 1]>>) -> tensor<?x1xi64, #relax.dims<["n", 1]>>
  return %gv : tensor<?x1xi64, #relax.dims<["n", 1]>>
}
