// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @full(%x0: !relax.shape<[4], 1 : i64>, %x1: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{fill_value must have rank 0}}
  %gv = "relax.full"(%x0, %x1) : (!relax.shape<[4], 1 : i64>, tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @tril(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{needs a tensor of rank two or more}}
  %gv = "relax.tril"(%x) : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @arange(%x0: !relax.prim<i64, "0">, %x1: !relax.prim<i64, "4">, %x2: !relax.prim<i64, "0">) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{step must not be zero}}
  %gv = "relax.arange"(%x0, %x1, %x2) {operandSegmentSizes = array<i32: 1, 1, 1>} : (!relax.prim<i64, "0">, !relax.prim<i64, "4">, !relax.prim<i64, "0">) -> !relax.object
  return %gv : !relax.object
}
