# RUN: relax-opt %s --tir-unify-thread-binding --tir-align-buffer-dims | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # Columns of a tile of 32 by 32 would all be in one bank.
    # CHECK-LABEL: func.func @transpose
    # CHECK: "tir.alloc_buffer"() {{.*}} -> memref<32x33xf32>
    @T.prim_func
    def transpose(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        s = T.alloc_buffer((32, 32), "float32", scope="shared")
        for _ in T.thread_binding(1, thread="blockIdx.x"):
            for i in range(32):
                for j in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("s"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
                        s[vi, vj] = A[vi, vj]
            for i in range(32):
                for j in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        B[vi, vj] = s[vj, vi]
