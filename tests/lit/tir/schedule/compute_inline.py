# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/blur.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "B", "func_name": "main"}, ["b0"], null],
# TRACE: ["compute_inline", [], {"block": {"rv": "b0"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: for i in range(14):
# CHECK-NEXT: with T.block("Y"):
# CHECK-NEXT: vi = T.axis.spatial(14, i)
# CHECK-NEXT: T.reads(A[vi:vi + 5])
# CHECK-NEXT: T.writes(Y[vi])
# CHECK-NEXT: Y[vi] = A[vi] + A[vi + 2] + (A[vi + 2] + A[vi + 4])
