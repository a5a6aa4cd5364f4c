# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "D", "func_name": "main"}, ["b0"], null],
# TRACE: ["reverse_compute_inline", [], {"block": {"rv": "b0"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: B = T.alloc_buffer((20, 30))
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(B[vi, vj])
# CHECK-NEXT: B[vi, vj] = A[vi, vj] * T.float32(2.0)
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(B[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.exp(B[vi, vj]) + T.float32(1.0)
