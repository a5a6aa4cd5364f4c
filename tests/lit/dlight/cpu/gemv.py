# RUN: %python %s | FileCheck %s
from relax_mlir import dlight
from relax_mlir.script import tir as T
from relax_mlir.target import Target

# CHECK-LABEL: def main(
# CHECK: T.parallel(4)
# CHECK: T.vectorized(64)
# CHECK: annotations={"pragma_auto_unroll_max_step": 256
# CHECK: with T.block("C"):


@T.prim_func
def main(
    A: T.Buffer((256, 512), "float32"), B: T.Buffer((512,), "float32"),
    C: T.Buffer((256,), "float32"),
):  # fmt: skip
    for i, k in T.grid(256, 512):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]


schedule = dlight.cpu.GEMV().apply(main, Target("llvm"), False)
assert schedule is not None
print(schedule.mod.script())
