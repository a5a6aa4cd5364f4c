# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l3"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["rfactor", [], {"loop": {"rv": "l5"}, "factor_axis": 0}, ["b6"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: C_rf = T.alloc_buffer((4, 32, 32))
# CHECK-NEXT: for i, j, k_0, k_1 in T.grid(32, 32, 8, 4):
# CHECK-NEXT: with T.block("C_rf"):
# CHECK-NEXT: vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
# CHECK-NEXT: T.reads(A[vi, vk_0 * 4 + vk_1], W[vk_0 * 4 + vk_1, vj])
# CHECK-NEXT: T.writes(C_rf[vk_1, vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C_rf[vk_1, vi, vj] = T.float32(0.0)
# CHECK-NEXT: C_rf[vk_1, vi, vj] = C_rf[vk_1, vi, vj] + A[vi, vk_0 * 4 + vk_1] * W[vk_0 * 4 + vk_1, vj]
# CHECK-NEXT: for i, j, k_1 in T.grid(32, 32, 4):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
# CHECK-NEXT: T.reads(C_rf[vk_1, vi, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C[vi, vj] = C[vi, vj] + C_rf[vk_1, vi, vj]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
