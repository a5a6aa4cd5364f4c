# ruff: noqa: E501
# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["cache_read", [], {"block": {"rv": "b0"}, "read_buffer_index": 0, "storage_scope": "shared"}, ["b1"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b2"], null],
# TRACE: ["cache_write", [], {"block": {"rv": "b2"}, "write_buffer_index": 0, "storage_scope": "local"}, ["b3"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b4"], null],
# TRACE: ["reindex_cache_read", [], {"block": {"rv": "b4"}, "read_buffer_index": 1, "storage_scope": "shared", "index_map": {"index_map": "lambda i, j, k: (j, k,)"}}, ["b5"], null],
# TRACE: ["get_sblock", [], {"name": "C", "func_name": "main"}, ["b6"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b6"}}, ["l7", "l8", "l9"], null],
# TRACE: ["compute_at", [], {"block": {"rv": "b1"}, "loop": {"rv": "l7"}, "preserve_unit_loops": false, "index": -1}, [], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b10"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b10"}}, ["l11", "l12"], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b13"], null],
# TRACE: ["read_at", [], {"loop": {"rv": "l11"}, "block": {"rv": "b13"}, "read_buffer_index": 1, "storage_scope": "shared"}, ["b14"], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: A_shared = T.alloc_buffer((16, 16), scope="shared")
# CHECK: D_local = T.alloc_buffer((16, 16), scope="local")
# CHECK: W_shared = T.alloc_buffer((16, 16), scope="shared")
# CHECK: W_shared_1 = T.alloc_buffer((16, 16), scope="shared")
# CHECK: for j, k in T.grid(16, 16):
# CHECK: with T.block("W_shared"):
# CHECK: vj, vk = T.axis.remap("SS", [j, k])
# CHECK: W_shared[vj, vk] = W[vk, vj]
# CHECK: for i in range(16):
# CHECK: for ax0 in range(16):
# CHECK: with T.block("A_shared"):
# CHECK: v0, v1 = T.axis.remap("SS", [i, ax0])
# CHECK: A_shared[v0, v1] = A[v0, v1]
# CHECK: for j, k in T.grid(16, 16):
# CHECK: with T.block("C"):
# CHECK: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK: with T.init():
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * W_shared[vj, vk]
# CHECK: for i in range(16):
# CHECK: with T.block("W_shared"):
# CHECK: T.block_attr({"auto_copy": T.bool(True)})
# CHECK: for ax0, ax1 in T.grid(1, 16):
# CHECK: W_shared_1[ax0, ax1] = W[ax0, ax1]
# CHECK: for j in range(16):
# CHECK: with T.block("D"):
# CHECK: vi, vj = T.axis.remap("SS", [i, j])
# CHECK: D_local[vi, vj] = C[vi, vj] + W_shared_1[0, vj]
# CHECK: for ax0, ax1 in T.grid(16, 16):
# CHECK: with T.block("D_local"):
# CHECK: v0, v1 = T.axis.remap("SS", [ax0, ax1])
# CHECK: D[v0, v1] = D_local[v0, v1]


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
