# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["sample_perfect_tile", [], {"loop": {"rv": "l1"}, "n": 2, "max_innermost_factor": 16}, ["v4", "v5"], [4, 4]],
# TRACE: ["split", [], {"loop": {"rv": "l1"}, "factors": [{"rv": "v4"}, {"rv": "v5"}], "preserve_unit_iters": true, "disable_predication": false}, ["l6", "l7"], null],
# TRACE: ["sample_categorical", [], {"candidates": [1, 2], "probs": [0.5, 0.5]}, ["v8"], 1],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b9"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b9"}}, ["l10", "l11"], null],
# TRACE: ["split", [], {"loop": {"rv": "l10"}, "factors": [null, {"arithmetic": ["*", {"rv": "v8"}, 4]}], "preserve_unit_iters": true, "disable_predication": false}, ["l12", "l13"], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: for i_0, i_1, j, k in T.grid(4, 4, 16, 16):
# CHECK: with T.block("C"):
# CHECK: vi = T.axis.spatial(16, i_0 * 4 + i_1)
# CHECK: vj, vk = T.axis.remap("SR", [j, k])
# CHECK: with T.init():
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK: for i_0, i_1, j in T.grid(2, 8, 16):
# CHECK: with T.block("D"):
# CHECK: vi = T.axis.spatial(16, i_0 * 8 + i_1)
# CHECK: vj = T.axis.spatial(16, j)
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
