# RUN: relax-opt %s --tir-plan-buffer-allocation --tir-inject-software-pipeline \
# RUN:   --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # The copy of an iteration runs before the use of the one before, in a version of its own.
    # CHECK-LABEL: def copy_and_use
    # CHECK: s = T.{{.*}}((2, 16), scope="shared")
    # CHECK: s[T.FloorMod(0, 2), v] = A[vk, v]
    # CHECK: for k in range(1, 4):
    # CHECK: s[k % 2, v] = A[vk, v]
    # CHECK: B[v] = B[v] + s[(k - 1) % 2, v]
    # CHECK: B[v] = B[v] + s[T.FloorMod(3, 2), v]
    @T.prim_func
    def copy_and_use(A: T.Buffer((4, 16), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.thread_binding(16, thread="threadIdx.x"):
            for k in T.serial(
                4,
                annotations={
                    "software_pipeline_stage": [0, 1],
                    "software_pipeline_order": [0, 1],
                },
            ):
                s = T.alloc_buffer((16,), "float32", scope="shared")
                with T.block("s"):
                    v, vk = T.axis.remap("SS", [i, k])
                    s[v] = A[vk, v]
                with T.block("B"):
                    v = T.axis.spatial(16, i)
                    vk = T.axis.opaque(4, k)
                    B[v] = B[v] + s[v]
