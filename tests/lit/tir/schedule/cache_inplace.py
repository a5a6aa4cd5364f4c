# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/inplace.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "B", "func_name": "main"}, ["b0"], null],
# TRACE: ["cache_inplace", [], {"block": {"rv": "b0"}, "read_buffer_index": 0, "storage_scope": "local"}, ["b1", "b2"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: A_local = T.alloc_buffer((20, 30), scope="local")
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: for ax0, ax1 in T.grid(1, 1):
# CHECK-NEXT: with T.block("A_local"):
# CHECK-NEXT: v0 = T.axis.spatial(20, i + ax0)
# CHECK-NEXT: v1 = T.axis.spatial(30, j + ax1)
# CHECK-NEXT: T.reads(A[v0, v1])
# CHECK-NEXT: T.writes(A_local[v0, v1])
# CHECK-NEXT: A_local[v0, v1] = A[v0, v1]
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A_local[vi, vj])
# CHECK-NEXT: T.writes(A_local[vi, vj])
# CHECK-NEXT: A_local[vi, vj] = A_local[vi, vj] * T.float32(2.0)
# CHECK-NEXT: for ax0, ax1 in T.grid(1, 1):
# CHECK-NEXT: with T.block("A_local"):
# CHECK-NEXT: v0 = T.axis.spatial(20, i + ax0)
# CHECK-NEXT: v1 = T.axis.spatial(30, j + ax1)
# CHECK-NEXT: T.reads(A_local[v0, v1])
# CHECK-NEXT: T.writes(A[v0, v1])
# CHECK-NEXT: A[v0, v1] = A_local[v0, v1]
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = A[vi, vj] + T.float32(1.0)
