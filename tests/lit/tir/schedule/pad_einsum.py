# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["pad_einsum", [], {"block": {"rv": "b0"}, "padding": [5, 1, 3]}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: A_pad = T.alloc_buffer((35, 33))
# CHECK-NEXT: W_pad = T.alloc_buffer((33, 32))
# CHECK-NEXT: C_pad = T.alloc_buffer((35, 32))
# CHECK-NEXT: for i0, i1 in T.grid(35, 33):
# CHECK-NEXT: with T.block("A_pad"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [i0, i1])
# CHECK-NEXT: T.reads(A[v0, v1])
# CHECK-NEXT: T.writes(A_pad[v0, v1])
# CHECK-NEXT: A_pad[v0, v1] = T.if_then_else(v0 < 32 and v1 < 32, A[v0, v1], T.float32(0.0))
# CHECK-NEXT: for i0, i1 in T.grid(33, 32):
# CHECK-NEXT: with T.block("W_pad"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [i0, i1])
# CHECK-NEXT: T.reads(W[v0, v1])
# CHECK-NEXT: T.writes(W_pad[v0, v1])
# CHECK-NEXT: W_pad[v0, v1] = T.if_then_else(v0 < 32, W[v0, v1], T.float32(0.0))
# CHECK-NEXT: for i, j, k in T.grid(35, 32, 33):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK-NEXT: T.reads(A_pad[vi, vk], W_pad[vk, vj])
# CHECK-NEXT: T.writes(C_pad[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C_pad[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * W_pad[vk, vj]
# CHECK-NEXT: for i0, i1 in T.grid(32, 32):
# CHECK-NEXT: with T.block("C_pad"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [i0, i1])
# CHECK-NEXT: T.reads(C_pad[v0, v1])
# CHECK-NEXT: T.writes(C[v0, v1])
# CHECK-NEXT: C[v0, v1] = C_pad[v0, v1]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
