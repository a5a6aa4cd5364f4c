# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 8], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["split", [], {"loop": {"rv": "l2"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l6", "l7"], null],
# TRACE: ["split", [], {"loop": {"rv": "l3"}, "factors": [null, 8], "preserve_unit_iters": true, "disable_predication": false}, ["l8", "l9"], null],
# TRACE: ["reorder", [{"rv": "l4"}, {"rv": "l6"}, {"rv": "l8"}, {"rv": "l5"}, {"rv": "l7"}, {"rv": "l9"}], {}, [], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b10"], null],
# TRACE: ["read_at", [], {"loop": {"rv": "l8"}, "block": {"rv": "b10"}, "read_buffer_index": 0, "storage_scope": "shared.dyn"}, ["b11"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b12"], null],
# TRACE: ["write_at", [], {"loop": {"rv": "l6"}, "block": {"rv": "b12"}, "write_buffer_index": 0, "storage_scope": "shared.dyn"}, ["b13"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: A_shared_dyn = T.alloc_buffer((32, 32), scope="shared.dyn")
# CHECK-NEXT: C_shared_dyn = T.alloc_buffer((32, 32), scope="shared.dyn")
# CHECK-NEXT: for i_0, j_0 in T.grid(4, 8):
# CHECK-NEXT: for k_0 in range(4):
# CHECK-NEXT: with T.block("A_shared.dyn"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [i_0, k_0])
# CHECK-NEXT: T.reads(A[v0 * 8:v0 * 8 + 8, v1 * 8:v1 * 8 + 8])
# CHECK-NEXT: T.writes(A_shared_dyn[v0 * 8:v0 * 8 + 8, v1 * 8:v1 * 8 + 8])
# CHECK-NEXT: T.block_attr({"auto_copy": T.bool(True)})
# CHECK-NEXT: for ax0, ax1 in T.grid(8, 8):
# CHECK-NEXT: A_shared_dyn[v0 * 8 + ax0, v1 * 8 + ax1] = A[v0 * 8 + ax0, v1 * 8 + ax1]
# CHECK-NEXT: for i_1, j_1, k_1 in T.grid(8, 4, 8):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi = T.axis.spatial(32, i_0 * 8 + i_1)
# CHECK-NEXT: vj = T.axis.spatial(32, j_0 * 4 + j_1)
# CHECK-NEXT: vk = T.axis.reduce(32, k_0 * 8 + k_1)
# CHECK-NEXT: T.reads(A_shared_dyn[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(C_shared_dyn[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C_shared_dyn[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C_shared_dyn[vi, vj] = C_shared_dyn[vi, vj] + A_shared_dyn[vi, vk] * W[vk, vj]
# CHECK-NEXT: with T.block("C_shared.dyn"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [i_0, j_0])
# CHECK-NEXT: T.reads(C_shared_dyn[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
# CHECK-NEXT: T.writes(C[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
# CHECK-NEXT: T.block_attr({"auto_copy": T.bool(True)})
# CHECK-NEXT: for ax0, ax1 in T.grid(8, 4):
# CHECK-NEXT: C[v0 * 8 + ax0, v1 * 4 + ax1] = C_shared_dyn[v0 * 8 + ax0, v1 * 4 + ax1]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
