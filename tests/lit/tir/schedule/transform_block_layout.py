# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["transform_block_layout", [], {"block": {"rv": "b0"}, "index_map": {"index_map": "lambda i, j: (i * 30 + j,)"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: B = T.alloc_buffer((20, 30))
# CHECK-NEXT: C = T.alloc_buffer((20, 30))
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(B[vi, vj])
# CHECK-NEXT: B[vi, vj] = A[vi, vj] * T.float32(2.0)
# CHECK-NEXT: for ax0 in range(600):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: v0 = T.axis.spatial(600, ax0)
# CHECK-NEXT: T.reads(B[v0 // 30, v0 % 30])
# CHECK-NEXT: T.writes(C[v0 // 30, v0 % 30])
# CHECK-NEXT: C[v0 // 30, v0 % 30] = T.exp(B[v0 // 30, v0 % 30])
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = C[vi, vj] + T.float32(1.0)
