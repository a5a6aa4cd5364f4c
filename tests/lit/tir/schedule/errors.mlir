// RUN: not relax-opt %s --tir-apply-schedule 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not relax-opt %s --tir-apply-schedule=trace=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: echo '[["_apply", [], {}, [], null]]' > %t.json
// RUN: not relax-opt %s --tir-apply-schedule=trace=%t.json 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: echo '[["get_sblock", [], {"name": "B"}, ["b0"], null]]' > %t.block.json
// RUN: not relax-opt %s --tir-apply-schedule=trace=%t.block.json 2>&1 | FileCheck %s --check-prefix=BLOCK

// MISSING: tir-apply-schedule needs a trace
// FILE: cannot read the trace
// KIND: is no trace of a schedule
// BLOCK: no block is named "B"
func.func @main(%A: memref<8xf32> {tir.name = "A"}) attributes {tir.attrs = {}} {
  return
}
