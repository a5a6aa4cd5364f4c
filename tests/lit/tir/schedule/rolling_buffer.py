# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %S/Inputs/pool.py --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s

# TRACE: [["get_sblock", [], {"name": "D", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3", "l4", "l5"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b6"], null],
# TRACE: ["compute_at", [], {"block": {"rv": "b6"}, "loop": {"rv": "l1"}, "preserve_unit_loops": false, "index": -1}, [], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b7"], null],
# TRACE: ["rolling_buffer", [], {"block": {"rv": "b7"}, "write_buffer_index": 0}, [], null]]

# CHECK-LABEL: def main(
# CHECK-NEXT: # with T.block("root"):
# CHECK-NEXT: C = T.alloc_buffer((3, 10, 16))
# CHECK-NEXT: for i in range(8):
# CHECK-NEXT: for ax0, ax1, ax2, ax3, ax4 in T.grid(3, 10, 16, 3, 3):
# CHECK-NEXT: with T.block("C"):
# CHECK-NEXT: vi = T.axis.opaque(10, i + ax0)
# CHECK-NEXT: vj, vc, va, vb = T.axis.remap("SSRR", [ax1, ax2, ax3, ax4])
# CHECK-NEXT: T.where(i < 1 or 2 <= ax0)
# CHECK-NEXT: T.reads(A[vi + va, vj + vb, vc])
# CHECK-NEXT: T.writes(C[vi % 3, vj, vc])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: C[vi % 3, vj, vc] = T.float32(0.0)
# CHECK-NEXT: C[vi % 3, vj, vc] = T.max(C[vi % 3, vj, vc], A[vi + va, vj + vb, vc])
# CHECK-NEXT: for j, c, a, b in T.grid(8, 16, 3, 3):
# CHECK-NEXT: with T.block("D"):
# CHECK-NEXT: vi = T.axis.opaque(8, i)
# CHECK-NEXT: vj, vc, va, vb = T.axis.remap("SSRR", [j, c, a, b])
# CHECK-NEXT: T.reads(C[(vi + va) % 3, vj + vb, vc])
# CHECK-NEXT: T.writes(D[vi, vj, vc])
# CHECK-NEXT: with T.init():
# CHECK-NEXT: D[vi, vj, vc] = T.float32(0.0)
# CHECK-NEXT: D[vi, vj, vc] = T.max(D[vi, vj, vc], C[(vi + va) % 3, vj + vb, vc])
