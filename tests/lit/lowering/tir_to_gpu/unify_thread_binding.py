# RUN: relax-opt %s --tir-unify-thread-binding --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Loops on one axis become one around the kernel; a block that is not bound to it runs once.
    # CHECK-LABEL: def exchange
    # CHECK: for b in T.thread_binding(2, thread="blockIdx.x"):
    # CHECK-NEXT: for i in T.thread_binding(32, thread="threadIdx.x"):
    # CHECK: s = T.{{.*}}scope="shared"
    # CHECK: T.block("s")
    # CHECK-NOT: thread_binding
    # CHECK: if i == 0:
    # CHECK-NEXT: with T.block("first")
    # CHECK-NOT: thread_binding
    # CHECK: T.block("B")
    # CHECK: T.axis.spatial(32, 31 - i)
    @T.prim_func
    def exchange(
        A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((2,), "float32")
    ):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        for b in T.thread_binding(2, thread="blockIdx.x"):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("s"):
                    v = T.axis.spatial(64, b * 32 + i)
                    s[v] = A[v]
            with T.block("first"):
                v = T.axis.spatial(2, b)
                C[v] = s[v * 32]
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    w = T.axis.spatial(2, b)
                    v = T.axis.spatial(32, 31 - j)
                    B[w * 32 + v] = s[w * 32 + v]
