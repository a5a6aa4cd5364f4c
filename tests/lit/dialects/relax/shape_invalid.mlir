// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @tensor_to_shape(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs an int64 vector}}
  %gv = "relax.tensor_to_shape"(%x) : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @broadcast_shapes(%x: !relax.shape<[4, 5], 2 : i64>, %y: !relax.shape<[3, 5], 2 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{sizes 4 and 3 do not broadcast}}
  %gv = "relax.broadcast_shapes"(%x, %y) : (!relax.shape<[4, 5], 2 : i64>, !relax.shape<[3, 5], 2 : i64>) -> !relax.object
  return %gv : !relax.object
}
