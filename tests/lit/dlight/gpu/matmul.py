# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: C_reindex_local = T.alloc_buffer((1, 64, 128), scope="local")
# CHECK: A_reindex_shared = T.alloc_buffer((1, 64, 32), scope="shared")
# CHECK: B_reindex_shared = T.alloc_buffer((1, 128, 32), scope="shared")
# CHECK: T.thread_binding(2, thread="blockIdx.y")
# CHECK: T.thread_binding(2, thread="blockIdx.x")
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(8, thread="threadIdx.x", annotations={"pragma_auto_unroll_max_step": 256
# CHECK: with T.block("C_init"):
# CHECK: for ax3_0 in range(2):
# CHECK: T.vectorized(2)
# CHECK: with T.block("A_reindex_shared"):
# CHECK: T.block_attr({"buffer_dim_align": {{\[\[}}0, 1, 8, 2{{\]\]}}})
# CHECK: with T.block("B_reindex_shared"):
# CHECK: with T.block("C_update"):
# CHECK: with T.block("C_reindex_local"):
# CHECK: C[v1, v2] = C_reindex_local[v0, v1, v2]


@T.prim_func
def main(
    A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 128), "float32"),
    C: T.Buffer((64, 128), "float32"),
):  # fmt: skip
    for i, j, k in T.grid(64, 128, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


schedule = dlight.gpu.Matmul().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
