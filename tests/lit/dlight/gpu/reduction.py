# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: C_local = T.alloc_buffer((24,), scope="local")
# CHECK: T.thread_binding(24, thread="blockIdx.x")
# CHECK: T.thread_binding(64, thread="threadIdx.x")
# CHECK: for k_0 in T.serial(2, annotations={"pragma_auto_unroll_max_step": 256
# CHECK: with T.block("C"):
# CHECK: T.where(k_0 * 64 + k_1 < 100)
# CHECK: T.thread_binding(64, thread="threadIdx.x")
# CHECK: with T.block("D"):
# CHECK: D[vi] = C_local[vi] * T.float32(0.01)


@T.prim_func
def main(A: T.Buffer((24, 100), "float32"), D: T.Buffer((24,), "float32")):
    C = T.alloc_buffer((24,), "float32")
    for i, k in T.grid(24, 100):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(24):
        with T.block("D"):
            vi = T.axis.spatial(24, i)
            D[vi] = C[vi] * T.float32(0.01)


schedule = dlight.gpu.Reduction().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
