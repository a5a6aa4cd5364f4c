# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "D", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2"], null],
# TRACE: ["fuse", [{"rv": "l1"}, {"rv": "l2"}], {"preserve_unit_iters": true}, ["l3"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: for i, j, k in T.grid(32, 32, 32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK-NEXT: T.reads(A[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK-NEXT: for i_j_fused in range(1024):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi = T.axis.spatial(32, i_j_fused // 32)
# CHECK-NEXT: vj = T.axis.spatial(32, i_j_fused % 32)
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
