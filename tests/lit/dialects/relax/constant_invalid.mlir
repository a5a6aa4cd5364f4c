// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @type() attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.constant: tensor<2xi32> cannot be tensor<3xi8>: dtypes int32 and int8}}
  %0 = "relax.constant"() {value = dense<1> : tensor<2xi32>} : () -> tensor<3xi8>
  return
}

// -----

func.func @shape() attributes {relax.attrs = {}} {
  // expected-error@+1 {{relax.constant: tensor<2xf32> cannot be tensor<3xf32>}}
  %0 = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @no_elements() attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs its elements as dense<...>}}
  %0 = "relax.constant"() {value = 1.0 : f32} : () -> tensor<f32>
  return
}
