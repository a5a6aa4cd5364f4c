# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/bias.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b1"], null],
# TRACE: ["fuse_reduction_epilogue", [], {"reduction_block": {"rv": "b0"}, "epilogue_block": {"rv": "b1"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: for i, j, k in T.grid(32, 32, 32):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK-NEXT: T.reads(b[vj], A[vi, vk], W[vk, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: D[vi, vj] = b[vj]
# CHECK-NEXT: D[vi, vj] = D[vi, vj] + A[vi, vk] * W[vk, vj]
