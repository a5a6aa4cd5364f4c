# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: A_shared = T.alloc_buffer((64, 48), scope="shared")
# CHECK: T.thread_binding(6, thread="blockIdx.y"
# CHECK: T.thread_binding(4, thread="blockIdx.x")
# CHECK: T.thread_binding(8, thread="threadIdx.y")
# CHECK: T.thread_binding(16, thread="threadIdx.x")
# CHECK: with T.block("A_shared"):
# CHECK: T.block_attr({"buffer_dim_align": {{\[\[}}0, 0, 32, 1{{\]\]}}})
# CHECK: with T.block("B"):
# CHECK: B[vi, vj] = A_shared[vj, vi]


@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 64), "float32")):
    for i, j in T.grid(48, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


schedule = dlight.gpu.Transpose().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
