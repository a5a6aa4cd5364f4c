# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/resize.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "D", "func_name": "main"}, ["b0"], null],
# TRACE: ["cache_index", [], {"block": {"rv": "b0"}, "storage_scope": "global", "cse_thresh": 0}, ["b1", "b2"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: index_var_0 = T.alloc_buffer((80, 80), "int32")
# CHECK-NEXT: index_var_1 = T.alloc_buffer((80,), "int32")
# CHECK-NEXT: for ax0, ax1 in T.grid(80, 80):
# CHECK-NEXT: with T.block("index_0"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [ax0, ax1])
# CHECK-NEXT: T.reads()
# CHECK-NEXT: T.writes(index_var_0[v0, v1])
# CHECK-NEXT: index_var_0[v0, v1] = v0 // 4 + v1 // 4
# CHECK-NEXT: for ax0 in range(80):
# CHECK-NEXT: with T.block("index_1"):
# CHECK-NEXT: v0 = T.axis.spatial(80, ax0)
# CHECK-NEXT: T.reads()
# CHECK-NEXT: T.writes(index_var_1[v0])
# CHECK-NEXT: index_var_1[v0] = v0 // 2
# CHECK-NEXT: for i0, i1, i2, i3 in T.grid(1, 3, 80, 80):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
# CHECK-NEXT: T.reads(index_var_1[vj], index_var_0[vi, vj], A[n, c, vi // 4 + vj // 4, vj // 2])
# CHECK-NEXT: T.writes(D[n, c, vi, vj])
# CHECK-NEXT: D[n, c, vi, vj] = A[n, c, index_var_0[vi, vj], index_var_1[vj{{\]\]}}
