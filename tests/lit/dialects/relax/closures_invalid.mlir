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

// -----

func.func @made(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.make_closure: makes a function, not tensor<2xf32>}}
  %f = "relax.make_closure"(%x) {callee = @made} : (tensor<2xf32>) -> tensor<2xf32>
  return %f : tensor<2xf32>
}

// -----

func.func @invoked(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.invoke_closure: only functions can be called, this is tensor<2xf32>}}
  %r = "relax.invoke_closure"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

func.func @purely(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.invoke_pure_closure: only functions can be called}}
  %r = "relax.invoke_pure_closure"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
