// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @kind(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.local_function: makes a function, not tensor<2xf32>}}
  %f = "relax.local_function"() ({
  ^bb0(%y: tensor<2xf32>):
    "relax.yield"(%y) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @parameters(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{takes its parameters}}
  %f = "relax.local_function"() ({
  ^bb0(%y: tensor<2xf32>):
    "relax.yield"(%y) : (tensor<2xf32>) -> ()
  }) : () -> (() -> tensor<2xf32>)
  return %x : tensor<2xf32>
}

// -----

func.func @result(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{gives another type than}}
  %f = "relax.local_function"() ({
  ^bb0(%y: tensor<2xf32>):
    "relax.yield"(%y) : (tensor<2xf32>) -> ()
  }) : () -> ((tensor<2xf32>) -> tensor<3xf32>)
  return %x : tensor<2xf32>
}

// -----

func.func @callee(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.call_value: only functions can be called}}
  %r = "relax.call_value"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
