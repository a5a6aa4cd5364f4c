# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l4", "l5"], null],
# TRACE: ["split", [], {"loop": {"rv": "l2"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l6", "l7"], null],
# TRACE: ["split", [], {"loop": {"rv": "l3"}, "factors": [null, 4], "preserve_unit_iters": true, "disable_predication": false}, ["l8", "l9"], null],
# TRACE: ["reorder", [{"rv": "l4"}, {"rv": "l6"}, {"rv": "l8"}, {"rv": "l5"}, {"rv": "l7"}, {"rv": "l9"}], {}, [], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b10"], null],
# TRACE: ["decompose_reduction", [], {"block": {"rv": "b10"}, "loop": {"rv": "l8"}}, ["b11"], null],
# TRACE: ["tensorize", [], {"block_or_loop": {"rv": "l5"}, "tensor_intrin": "matmul_4x4x4_f32", "preserve_unit_iters": true}, [], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b12"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b12"}}, ["l13", "l14"], null],
# TRACE: ["blockize", [], {"target": {"rv": "l14"}, "preserve_unit_iters": true}, ["b15"], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: for i_0, j_0 in T.grid(4, 4):
# CHECK: for i_1_init, j_1_init in T.grid(4, 4):
# CHECK: with T.block("C_init"):
# CHECK: vi = T.axis.spatial(16, i_0 * 4 + i_1_init)
# CHECK: vj = T.axis.spatial(16, j_0 * 4 + j_1_init)
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: for k_0 in range(4):
# CHECK: with T.block("C_update_o"):
# CHECK: vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
# CHECK: for k, i in T.grid(4, 4):
# CHECK: C[vi_o * 4 + i, T.Ramp(vj_o * 4, 1, 4)] = C[vi_o * 4 + i, T.Ramp(vj_o * 4, 1, 4)] + T.Broadcast(A[vi_o * 4 + i, vk_o * 4 + k], 4) * W[vk_o * 4 + k, T.Ramp(vj_o * 4, 1, 4)]
# CHECK: for i in range(16):
# CHECK: with T.block("D_o"):
# CHECK: vi_o = T.axis.spatial(16, i)
# CHECK: vj_o = T.axis.spatial(1, 0)
# CHECK: for j in range(16):
# CHECK: with T.block("D"):
# CHECK: vj_i = T.axis.spatial(16, j)
# CHECK: D[vi_o, vj_i] = C[vi_o, vj_i] + W[0, vj_i]


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
