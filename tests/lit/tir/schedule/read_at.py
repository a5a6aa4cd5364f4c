# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 8], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["reorder", [{"rv": "l4"}, {"rv": "l3"}, {"rv": "l5"}, {"rv": "l2"}], {}, [], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b6"], null],
# TRACE: ["read_at", [], {"loop": {"rv": "l4"}, "block": {"rv": "b6"}, "read_buffer_index": 0, "storage_scope": "shared"}, ["b7"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: A_shared = T.alloc_buffer((32, 32), scope="shared")
# CHECK-NEXT: for i_0 in range(4):
# CHECK-NEXT: with T.block("A_shared"):
# CHECK-NEXT: v0 = T.axis.spatial(4, i_0)
# CHECK-NEXT: T.reads(A[v0 * 8:v0 * 8 + 8, 0:32])
# CHECK-NEXT: T.writes(A_shared[v0 * 8:v0 * 8 + 8, 0:32])
# CHECK-NEXT: T.block_attr({"auto_copy": T.bool(True)})
# CHECK-NEXT: for ax0, ax1 in T.grid(8, 32):
# CHECK-NEXT: A_shared[v0 * 8 + ax0, ax1] = A[v0 * 8 + ax0, ax1]
# CHECK-NEXT: for k, i_1, j in T.grid(32, 8, 32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi = T.axis.spatial(32, i_0 * 8 + i_1)
# CHECK-NEXT: vj, vk = T.axis.remap("SR", [j, k])
# CHECK-NEXT: T.reads(A_shared[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * W[vk, vj]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
