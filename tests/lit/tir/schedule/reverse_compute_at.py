# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/bias.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b4"], null],
# TRACE: ["reverse_compute_at", [], {"block": {"rv": "b4"}, "loop": {"rv": "l1"}, "preserve_unit_loops": false, "index": -1}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((32, 32))
# CHECK-NEXT: for i in range(32):
# CHECK-NEXT: for j, k in T.grid(32, 32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK-NEXT: T.reads(A[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(C[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi, vj] = T.float32(0.0)
# CHECK-NEXT: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK-NEXT: for ax0 in range(32):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, ax0])
# CHECK-NEXT: T.reads(C[vi, vj], b[vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = C[vi, vj] + b[vj]
