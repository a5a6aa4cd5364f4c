# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["reorder_block_iter_var", [], {"block": {"rv": "b0"}, "new_order": [2, 0, 1]}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: for i, j, k in T.grid(32, 32, 32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vk, vi, vj = T.axis.remap("RSS", [k, i, j])
# CHECK-NEXT: T.reads(A[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
