# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["annotate", [], {"block_or_loop": {"rv": "b0"}, "ann_key": "note", "ann_val": "x"}, [], null],
# TRACE: ["annotate", [], {"block_or_loop": {"rv": "l1"}, "ann_key": "pragma", "ann_val": 4}, [], null],
# TRACE: ["unannotate", [], {"block_or_loop": {"rv": "l1"}, "ann_key": "pragma"}, [], null],
# TRACE: ["set_scope", [], {"block": {"rv": "b0"}, "buffer_index": 0, "storage_scope": "shared"}, [], null],
# TRACE: ["storage_align", [], {"block": {"rv": "b0"}, "buffer_index": 0, "axis": 0, "factor": 32, "offset": 1}, [], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b4"], null],
# TRACE: ["annotate_buffer_access", [], {"block": {"rv": "b4"}, "buffer_index": 0, "buf_type": "read", "gen_new_ranges": {"index_map": "lambda i0, i1: (0, 16, i1, i1 + 1,)"}}, [], null]]

# CHECK-LABEL: def main(
# CHECK: C_shared = T.alloc_buffer((16, 16), scope="shared")
# CHECK: for i, j, k in T.grid(16, 16, 16):
# CHECK: with T.block("C"):
# CHECK: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK: T.block_attr({"buffer_dim_align": {{\[\[}}0, 0, 32, 1]], "note": "x"})
# CHECK: with T.init():
# CHECK: C_shared[vi, vj] = T.float32(0.0)
# CHECK: C_shared[vi, vj] = C_shared[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK: for i, j in T.grid(16, 16):
# CHECK: with T.block("D"):
# CHECK: vi, vj = T.axis.remap("SS", [i, j])
# CHECK: T.block_attr({"explicit_read_region": [0]})
# CHECK: D[vi, vj] = C_shared[vi, vj] + W[0, vj]


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
