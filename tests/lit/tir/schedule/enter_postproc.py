# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "B", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 5], "preserve_unit_iters": true, "disable_predication": false}, ["l3", "l4"], null],
# TRACE: ["enter_postproc", [], {}, [], null],
# TRACE: ["get_sblock", [], {"name": "B", "func_name": "main"}, ["b5"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b5"}}, ["l6", "l7", "l8"], null],
# TRACE: ["unroll", [], {"loop": {"rv": "l7"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: B = T.alloc_buffer((20, 30))
# CHECK-NEXT: C = T.alloc_buffer((20, 30))
# CHECK-NEXT: for i_0 in range(4):
# CHECK-NEXT: for i_1 in T.unroll(5):
# CHECK-NEXT: for j in range(30):
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi = T.axis.spatial(20, i_0 * 5 + i_1)
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
