# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: T.thread_binding(3, thread="blockIdx.x")
# CHECK: T.thread_binding(1024, thread="threadIdx.x")
# CHECK: with T.block("B"):
# CHECK: T.where({{.*}} < 2800)
# CHECK: B[vi, vj] = T.exp(A[vi, vj]) + T.float32(1.0)


@T.prim_func
def main(A: T.Buffer((40, 70), "float32"), B: T.Buffer((40, 70), "float32")):
    E = T.alloc_buffer((40, 70), "float32")
    for i, j in T.grid(40, 70):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj])
    for i, j in T.grid(40, 70):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = E[vi, vj] + T.float32(1)


schedule = dlight.gpu.Fallback().apply(main, Target("cuda"), False)
assert schedule is not None
print(schedule.mod.script())
