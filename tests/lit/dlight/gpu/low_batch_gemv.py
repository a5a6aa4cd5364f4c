# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: T.thread_binding((n + T.int64(3)) // T.int64(4), thread="blockIdx.y")
# CHECK: T.thread_binding(2, thread="blockIdx.x")
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: with T.block("C"):
# CHECK: T.if_then_else(vi < n, A[vi, vk], T.float32(0.0)) * B[vj, vk]
# CHECK: with T.block("C_pad"):


@T.prim_func
def main(a: T.handle, B: T.Buffer((48, 64), "float32"), c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    C = T.match_buffer(c, (n, 48), "float32")
    for i, j, k in T.grid(n, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


schedule = dlight.gpu.LowBatchGEMV().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
