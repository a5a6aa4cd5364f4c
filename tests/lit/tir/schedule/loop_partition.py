# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2"], null],
# TRACE: ["loop_partition", [], {"loop": {"rv": "l2"}, "factors": [null, 6], "preserve_unit_iters": true}, ["l3", "l4"], null]]

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
# CHECK-NEXT: for i in range(20):
# CHECK-NEXT: with T.block("C_j_common"):
# CHECK-NEXT: T.reads(B[i, 0:30])
# CHECK-NEXT: T.writes(C[i, 0:30])
# CHECK-NEXT: with T.block("C_j0_partition"):
# CHECK-NEXT: T.reads(B[i, 0:24])
# CHECK-NEXT: T.writes(C[i, 0:24])
# CHECK-NEXT: for j0 in range(24):
# CHECK-NEXT: with T.block("C_j0"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j0])
# CHECK-NEXT: T.reads(B[vi, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: C[vi, vj] = T.exp(B[vi, vj])
# CHECK-NEXT: with T.block("C_j1_partition"):
# CHECK-NEXT: T.reads(B[i, 24:30])
# CHECK-NEXT: T.writes(C[i, 24:30])
# CHECK-NEXT: for j1 in range(24, 30):
# CHECK-NEXT: with T.block("C_j1"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j1])
# CHECK-NEXT: T.reads(B[vi, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: C[vi, vj] = T.exp(B[vi, vj])
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = C[vi, vj] + T.float32(1.0)
