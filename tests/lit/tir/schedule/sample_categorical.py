# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["sample_categorical", [], {"candidates": [2, 4], "probs": [0.5, 0.5]}, ["v0"], 1],
# TRACE: ["get_sblock", [], {"name": "B", "func_name": "main"}, ["b1"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b1"}}, ["l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l2"}, "factors": [null, {"rv": "v0"}], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: B = T.alloc_buffer((20, 30))
# CHECK-NEXT: C = T.alloc_buffer((20, 30))
# CHECK-NEXT: for i_0, i_1, j in T.grid(5, 4, 30):
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi = T.axis.spatial(20, i_0 * 4 + i_1)
# CHECK-NEXT: vj = T.axis.spatial(30, j)
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(B[vi, vj])
# CHECK-NEXT: B[vi, vj] = A[vi, vj] * T.float32(2.0)
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(B[vi, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: C[vi, vj] = T.exp(B[vi, vj])
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = C[vi, vj] + T.float32(1.0)
