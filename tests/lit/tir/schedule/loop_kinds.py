# RUN: sed -n 's/^# TRACE: //p' %s > %t.json
# RUN: relax-opt %s --tir-apply-schedule=trace=%t.json --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T

# TRACE: [["get_sblock", [], {"name": "C", "func_name": "main"}, ["b0"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b0"}}, ["l1", "l2", "l3"], null],
# TRACE: ["parallel", [], {"loop": {"rv": "l1"}}, [], null],
# TRACE: ["vectorize", [], {"loop": {"rv": "l2"}}, [], null],
# TRACE: ["unroll", [], {"loop": {"rv": "l3"}}, [], null],
# TRACE: ["get_sblock", [], {"name": "D", "func_name": "main"}, ["b4"], null],
# TRACE: ["get_loops", [], {"block": {"rv": "b4"}}, ["l5", "l6"], null],
# TRACE: ["bind", [], {"loop": {"rv": "l5"}, "thread_axis": "blockIdx.x"}, [], null],
# TRACE: ["bind", [], {"loop": {"rv": "l6"}, "thread_axis": "threadIdx.x"}, [], null]]

# CHECK-LABEL: def main(
# CHECK: C = T.alloc_buffer((16, 16))
# CHECK: for i in T.parallel(16):
# CHECK: for j in T.vectorized(16):
# CHECK: for k in T.unroll(16):
# CHECK: with T.block("C"):
# CHECK: vi, vj, vk = T.axis.remap("SSR", [i, j, k])
# CHECK: with T.init():
# CHECK: C[vi, vj] = T.float32(0.0)
# CHECK: C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
# CHECK: for i in T.thread_binding(16, thread="blockIdx.x"):
# CHECK: for j in T.thread_binding(16, thread="threadIdx.x"):
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
