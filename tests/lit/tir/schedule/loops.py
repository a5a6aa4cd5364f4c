# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["reorder", [{"rv": "l4"}, {"rv": "l3"}, {"rv": "l5"}, {"rv": "l2"}], {}, [], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b6"], null],
# TRACE: ["add_unit_loop", [{"rv": "b6"}], {}, ["l7"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b8"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b8"}}, ["l9", "l10", "l11"], null],
# TRACE: ["fuse", [{"rv": "l9"}, {"rv": "l10"}], {"preserve_unit_iters": true}, ["l12"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b13"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b13"}}, ["l14", "l15"], null],
# TRACE: ["loop_partition", [], {"loop": {"rv": "l14"}, "factors": [64, null], "preserve_unit_iters": true}, ["l16", "l17"], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: for i_0, k, i_1, j in T.grid(4, 16, 4, 16):
# CHECK: with T.block("C"):
# CHECK: vi = T.axis.spatial(16, i_0 * 4 + i_1)
# CHECK: vj, vk = T.axis.remap("SR", [j, k])
# CHECK: with T.init():
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK: with T.block("D_i_j_fused_common"):
# CHECK: with T.block("D_i_j_fused0_partition"):
# CHECK: for i_j_fused0, u in T.grid(64, 1):
# CHECK: with T.block("D_i_j_fused0"):
# CHECK: vi = T.axis.spatial(16, i_j_fused0 // 16)
# CHECK: vj = T.axis.spatial(16, i_j_fused0 % 16)
# CHECK: D[vi, vj] = C[vi, vj] + W[0, vj]
# CHECK: with T.block("D_i_j_fused1_partition"):
# CHECK: for i_j_fused1 in range(64, 256):
# CHECK: for u in range(1):
# CHECK: with T.block("D_i_j_fused1"):
# CHECK: vi = T.axis.spatial(16, i_j_fused1 // 16)
# CHECK: vj = T.axis.spatial(16, i_j_fused1 % 16)
# CHECK: D[vi, vj] = C[vi, vj] + W[0, vj]


@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((16, 16), "float32"),
        W: T.Buffer((16, 16), "float32"),
        D: T.Buffer((16, 16), "float32"),
    ):
        C = T.alloc_buffer((16, 16), "float32")
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
        for i, j in T.grid(16, 16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + W[0, vj]
