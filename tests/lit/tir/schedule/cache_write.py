# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/elementwise.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["cache_write", [], {"block": {"rv": "b0"}, "write_buffer_index": 0, "storage_scope": "local"}, ["b1"], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: B = T.alloc_buffer((20, 30))
# CHECK-NEXT: C = T.alloc_buffer((20, 30))
# CHECK-NEXT: C_local = T.alloc_buffer((20, 30), scope="local")
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("B"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(A[vi, vj])
# CHECK-NEXT: T.writes(B[vi, vj])
# CHECK-NEXT: B[vi, vj] = A[vi, vj] * T.float32(2.0)
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(B[vi, vj])
# CHECK-NEXT: T.writes(C_local[vi, vj])
# CHECK-NEXT: C_local[vi, vj] = T.exp(B[vi, vj])
# CHECK-NEXT: for ax0, ax1 in T.grid(20, 30):
# CHECK-NEXT: with T.block("C_local"):
# CHECK-NEXT: v0, v1 = T.axis.remap("SS", [ax0, ax1])
# CHECK-NEXT: T.reads(C_local[v0, v1])
# CHECK-NEXT: T.writes(C[v0, v1])
# CHECK-NEXT: C[v0, v1] = C_local[v0, v1]
# CHECK-NEXT: for i, j in T.grid(20, 30):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi, vj = T.axis.remap("SS", [i, j])
# CHECK-NEXT: T.reads(C[vi, vj])
# CHECK-NEXT: T.writes(D[vi, vj])
# CHECK-NEXT: D[vi, vj] = C[vi, vj] + T.float32(1.0)
