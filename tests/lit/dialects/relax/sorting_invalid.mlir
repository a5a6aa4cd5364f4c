// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @topk(%x: tensor<4xf32>) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{k is 5, more than 4}}
  %gv = "relax.topk"(%x) {k = 5 : i64} : (tensor<4xf32>) -> !relax.object
  return %gv : !relax.object
}
