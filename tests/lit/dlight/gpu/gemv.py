# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: C_rf_local = T.alloc_buffer((32, 48), scope="local")
# CHECK: B_shared = T.alloc_buffer((256,), scope="shared")
# CHECK: T.thread_binding(3, thread="blockIdx.x")
# CHECK: with T.block("B_shared"):
# CHECK: T.thread_binding(16, thread="threadIdx.y")
# CHECK: T.thread_binding(32, thread="threadIdx.x")
# CHECK: with T.block("C_rf_init"):
# CHECK: T.vectorized(4)
# CHECK: with T.block("A_local"):
# CHECK: with T.block("C_rf_update"):
# CHECK: with T.block("C"):


@T.prim_func
def main(
    A: T.Buffer((48, 256), "float32"), B: T.Buffer((256,), "float32"),
    C: T.Buffer((48,), "float32"),
):  # fmt: skip
    for i, k in T.grid(48, 256):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]


schedule = dlight.gpu.GEMV().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
