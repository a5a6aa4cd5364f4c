# RUN: relax-opt %s --tir-unify-thread-binding --tir-inject-virtual-thread \
# RUN:   --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # The loop over virtual threads goes inward, past what does not depend on it.
    # CHECK-LABEL: def steps
    # CHECK-NOT: vthread
    # CHECK: for k in range(4):
    # CHECK-NEXT: with T.block("s")
    # CHECK: for v in T.unroll(2):
    # CHECK-NEXT: with T.block("B")
    @T.prim_func
    def steps(A: T.Buffer((4, 32), "float32"), B: T.Buffer((64,), "float32")):
        s = T.alloc_buffer((32,), "float32", scope="shared")
        for v in T.thread_binding(2, thread="vthread.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                for k in range(4):
                    with T.block("s"):
                        vi, vk = T.axis.remap("SS", [i, k])
                        s[vi] = A[vk, vi]
                    with T.block("B"):
                        vi = T.axis.spatial(64, v * 32 + i)
                        vk = T.axis.opaque(4, k)
                        B[vi] = B[vi] + s[vi % 32]

    # The lanes of a vector stay together: virtual threads go around them.
    # CHECK-LABEL: def vectors
    # CHECK: for v in T.unroll(2):
    # CHECK-NEXT: for j in T.vectorized(4):
    # CHECK-NEXT: with T.block("B")
    @T.prim_func
    def vectors(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        for v in T.thread_binding(2, thread="vthread.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                for j in T.vectorized(4):
                    with T.block("B"):
                        vi = T.axis.spatial(256, v * 128 + i * 4 + j)
                        B[vi] = A[vi]
