# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l3"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["rfactor", [], {"loop": {"rv": "l5"}, "factor_axis": 0}, ["b6"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b7"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b7"}}, ["l8", "l9", "l10"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b11"], null],
# TRACE: ["decompose_reduction", [], {"block": {"rv": "b11"}, "loop": {"rv": "l8"}}, ["b12"], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: C_rf = T.alloc_buffer((4, 16, 16))
# CHECK: for i, j, k_0, k_1 in T.grid(16, 16, 4, 4):
# CHECK: with T.block("C_rf"):
# CHECK: vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
# CHECK: with T.init():
# CHECK: C_rf[vk_1, vi, vj] = T.float32(0.0)
# CHECK: C_rf[vk_1, vi, vj] = C_rf[vk_1, vi, vj] + A[vi, vk_0 * 4 + vk_1] * W[vk_0 * 4 + vk_1, vj]
# CHECK: for i_init, j_init in T.grid(16, 16):
# CHECK: with T.block("C_init"):
# CHECK: vi, vj = T.axis.remap("SS", [i_init, j_init])
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: for i, j, k_1 in T.grid(16, 16, 4):
# CHECK: with T.block("C_update"):
# CHECK: vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
# CHECK: C[vi, vj] = C[vi, vj] + C_rf[vk_1, vi, vj]
# CHECK: for i, j in T.grid(16, 16):
# CHECK: with T.block("D"):
# CHECK: vi, vj = T.axis.remap("SS", [i, j])
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
