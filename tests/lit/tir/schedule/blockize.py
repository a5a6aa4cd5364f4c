# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/matmul.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["blockize", [], {"target": {"rv": "l3"}, "preserve_unit_iters": true}, ["b4"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("C_o"):
# CHECK-NEXT: vi_o, vj_o = T.axis.remap("SS", [i, j])
# CHECK-NEXT: vk_o = T.axis.reduce(1, 0)
# CHECK-NEXT: T.reads(A[vi_o, 0:32], W[0:32, vj_o])
# CHECK-NEXT: T.writes(C[vi_o, vj_o])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: with T.block("C_init"):
# CHECK-NEXT: T.reads()
# CHECK-NEXT: T.writes(C[vi_o, vj_o])
# CHECK-NEXT: C[vi_o, vj_o] = T.float32(0.0)
# CHECK-NEXT: for k in range(32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vk_i = T.axis.reduce(32, k)
# CHECK-NEXT: T.reads(C[vi_o, vj_o], A[vi_o, vk_i], W[vk_i, vj_o])
# CHECK-NEXT: T.writes(C[vi_o, vj_o])
# CHECK-NEXT: C[vi_o, vj_o] = C[vi_o, vj_o] + A[vi_o, vk_i] * W[vk_i, vj_o]
# CHECK-NEXT: for i, j in T.grid(32, 32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.max(C[vi, vj], T.float32(2.0))
