// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @reduction(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{op_type is one of sum, prod, min, max, avg, not median}}
  %a = "relax.ccl_allreduce"(%x) {op_type = "median"} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func @parts(%x: tensor<5xf32>) -> tensor<2xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{dimension 0 is 5, which 2 workers cannot share}}
  %a = "relax.ccl_scatter_from_worker0"(%x) {num_workers = 2 : i64} : (tensor<5xf32>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

func.func @workers(%x: tensor<5xf32>) -> tensor<5xf32> attributes {relax.attrs = {}} {
  // expected-error@+1 {{num_workers must be a positive integer, got 0}}
  %a = "relax.ccl_allgather"(%x) {num_workers = 0 : i64} : (tensor<5xf32>) -> tensor<5xf32>
  return %a : tensor<5xf32>
}
