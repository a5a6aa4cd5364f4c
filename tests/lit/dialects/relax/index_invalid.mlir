// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @strided_slice(%x0: tensor<4xf32>, %x1: !relax.shape<[0], 1 : i64>, %x2: !relax.shape<[0], 1 : i64>, %x3: !relax.shape<[4], 1 : i64>, %x4: !relax.shape<[0], 1 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{a stride must not be zero}}
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3, %x4) : (tensor<4xf32>, !relax.shape<[0], 1 : i64>, !relax.shape<[0], 1 : i64>, !relax.shape<[4], 1 : i64>, !relax.shape<[0], 1 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @strided_slice(%x0: tensor<4xf32>, %x1: !relax.shape<[0], 1 : i64>, %x2: !relax.shape<[0, 1], 2 : i64>, %x3: !relax.shape<[4], 1 : i64>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{axes, begin, end and strides have 1, 2, 1 and 1 entries}}
  %gv = "relax.strided_slice"(%x0, %x1, %x2, %x3) : (tensor<4xf32>, !relax.shape<[0], 1 : i64>, !relax.shape<[0, 1], 2 : i64>, !relax.shape<[4], 1 : i64>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @take(%x0: tensor<4xf32>, %x1: tensor<2xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{indices must be an integer tensor}}
  %gv = "relax.take"(%x0, %x1) : (tensor<4xf32>, tensor<2xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @take(%x0: tensor<4x4xf32>, %x1: tensor<2xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{without an axis x must have rank 1}}
  %gv = "relax.take"(%x0, %x1) : (tensor<4x4xf32>, tensor<2xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @take(%x0: tensor<4xf32>, %x1: tensor<2xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{mode 'slow' is none of}}
  %gv = "relax.take"(%x0, %x1) {mode = "slow"} : (tensor<4xf32>, tensor<2xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @gather_elements(%x0: tensor<4x4xf32>, %x1: tensor<2xi32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{indices must have rank 2}}
  %gv = "relax.gather_elements"(%x0, %x1) : (tensor<4x4xf32>, tensor<2xi32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @scatter_elements(%x0: tensor<4xf32>, %x1: tensor<2xi32>, %x2: tensor<3xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{shapes differ}}
  %gv = "relax.scatter_elements"(%x0, %x1, %x2) : (tensor<4xf32>, tensor<2xi32>, tensor<3xf32>) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @one_hot(%x0: tensor<4xf32>, %x1: !relax.prim<i64, "1">, %x2: !relax.prim<i64, "0">) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{indices must be an integer}}
  %gv = "relax.one_hot"(%x0, %x1, %x2) {depth = 2 : i64} : (tensor<4xf32>, !relax.prim<i64, "1">, !relax.prim<i64, "0">) -> !relax.object
  return %gv : !relax.object
}

// -----

func.func @no_index(%x: tensor<4xf32>) {
  // expected-error@below {{relax.index_tensor: needs at least one index tensor}}
  %0 = "relax.index_tensor"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
