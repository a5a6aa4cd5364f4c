# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/pad.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "D", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b3"], null],
# TRACE: ["decompose_padding", [], {"block": {"rv": "b3"}, "loop": {"rv": "l1"}}, ["b4"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: for i, j in T.grid(34, 44):
# CHECK-NEXT: with T.block("D_pad_const"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads()
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = T.float32(0.0)
# CHECK-NEXT: for i, j in T.grid(30, 40):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(D[vi + 2, vj + 2])
# CHECK-NEXT: D[vi + 2, vj + 2] = A[vi, vj]
