// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @nothing_reused(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{no output reuses an argument}}
  %r = "relax.call_inplace_packed"(%x) {callee = "f", inplace_indices = array<i64: -1>} : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

func.func @too_far(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{inplace_indices has 1, there are 1 arguments}}
  %r = "relax.call_inplace_packed"(%x) {callee = "f", inplace_indices = array<i64: 1>} : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{two outputs reuse the same argument}}
  %r = "relax.call_inplace_packed"(%x) {callee = "f", inplace_indices = array<i64: 0, 0>} : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  return %x : tensor<2xf32>
}

// -----

func.func @other_type(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{argument 0 is tensor<2xf32>, its output tensor<3xf32>}}
  %r = "relax.call_inplace_packed"(%x) {callee = "f", inplace_indices = array<i64: 0>} : (tensor<2xf32>) -> tensor<3xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @count(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{1 outputs need as many inplace_indices, there are 2}}
  %r = "relax.call_inplace_packed"(%x) {callee = "f", inplace_indices = array<i64: 0, -1>} : (tensor<2xf32>) -> tensor<2xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{output tensor<*xf32> must be a tensor of known shape and dtype}}
  %r = "relax.call_tir_with_grad"(%x) {callee = @unknown, te_grad_kwargs = {}, te_grad_name = "g"} : (tensor<2xf32>) -> tensor<*xf32>
  return %x : tensor<2xf32>
}

// -----

func.func @dynamic(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{gives nothing: its type is R.Tuple()}}
  %r = "relax.vm_call_tir_dyn"(%x) {callee = @dynamic} : (tensor<2xf32>) -> tensor<2xf32>
  return %x : tensor<2xf32>
}
