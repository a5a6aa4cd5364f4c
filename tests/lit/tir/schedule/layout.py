# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["transform_layout", [], {"block": {"rv": "b0"}, "buffer": ["write", 0], "index_map": {"index_map": "lambda i, j: (i // 5, j, i % 5,)"}, "pad_value": 0.0, "assume_injective_transform": false}, [], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b1"], null],
# TRACE: ["reindex", [], {"block": {"rv": "b1"}, "buffer": ["read", 0]}, ["b2"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b3"], null],
# TRACE: ["transform_block_layout", [], {"block": {"rv": "b3"}, "index_map": {"index_map": "lambda i, j: (i * 16 + j,)"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((4, 16, 5))
# CHECK: A_reindex = T.alloc_buffer((16, 16))
# CHECK: for ax0, ax1 in T.grid(16, 16):
# CHECK: with T.block("A_reindex_reindex"):
# CHECK: v0, v1 = T.axis.remap("SS", [ax0, ax1])
# CHECK: A_reindex[v0, v1] = A[v0, v1]
# CHECK: for i, j, k in T.grid(16, 16, 16):
# CHECK: with T.block("C"):
# CHECK: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK: with T.init():
# CHECK: C[vi // 5, vj, vi % 5] = T.float32(0.0)
# CHECK: C[vi // 5, vj, vi % 5] = C[vi // 5, vj, vi % 5] + A_reindex[vi, vk] * W[vk, vj]
# CHECK: for axis0, j, axis2 in T.grid(4, 16, 5):
# CHECK: with T.block("C_pad_fill"):
# CHECK: v_axis0, v_j, v_axis2 = T.axis.remap("SSS", [axis0, j, axis2])
# CHECK: if 16 <= v_axis0 * 5 + v_axis2:
# CHECK: C[v_axis0, v_j, v_axis2] = T.float32(0.0)
# CHECK: for ax0 in range(256):
# CHECK: with T.block("D"):
# CHECK: v0 = T.axis.spatial(256, ax0)
# CHECK: D[v0 // 16, v0 % 16] = C[v0 // 80, v0 % 16, v0 // 16 % 5] + W[0, v0 % 16]


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
