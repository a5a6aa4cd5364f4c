// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @to_vdevice(%x0: !relax.object) -> !relax.object attributes {relax.attrs = {}} {
  // expected-error@+1 {{must be a tensor}}
  %gv = "relax.to_vdevice"(%x0) : (!relax.object) -> !relax.object
  return %gv : !relax.object
}
