// RUN: relax-opt %s --split-input-file --verify-diagnostics --relax-bind-symbolic-vars="values=n:4 func-name=main"

// An error of a pass without a place of its own is expected at @unknown.
// expected-error@unknown {{pass 'relax-bind-symbolic-vars' failed: function 'main' has no symbol 'n'}}
func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> attributes {relax.attrs = {}} {
  return %x : tensor<2xf32>
}

// -----

// An operation that does not verify after a pass: the verifier's error has its line.
func.func @main(%x: tensor<?x3xf32, #relax.dims<["n", 3]>> {relax.name = "x"}, %w: tensor<5x5xf32> {relax.name = "w"}) -> tensor<*xf32> attributes {relax.attrs = {}} {
  %y = "relax.permute_dims"(%x) : (tensor<?x3xf32, #relax.dims<["n", 3]>>) -> tensor<3x?xf32, #relax.dims<[3, "n"]>>
  // expected-error@+1 {{relax.matmul}}
  %z = "relax.matmul"(%y, %w) : (tensor<3x?xf32, #relax.dims<[3, "n"]>>, tensor<5x5xf32>) -> tensor<*xf32>
  return %z : tensor<*xf32>
}
