// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @memory_ensure_zero_offset(%x0: !relax.object) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{must be a tensor}}
  %gv = "relax.memory_ensure_zero_offset"(%x0) : (!relax.object) -> !relax.object
  return %gv : !relax.object
}
