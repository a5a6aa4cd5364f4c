# RUN: relax-opt %s --tir-plan-buffer-allocation --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # What one iteration leaves, the next one reads: the buffer stays outside.
    # CHECK-LABEL: def carried
    # CHECK: L = T.{{[a-z_]*}}buffer((1,))
    # CHECK: for i in range(8):
    @T.prim_func
    def carried(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        L = T.alloc_buffer((1,), "float32")
        L[0] = T.float32(0)
        for i in range(8):
            with T.block("L"):
                v = T.axis.opaque(8, i)
                L[0] = L[0] + A[v]
            with T.block("B"):
                v = T.axis.opaque(8, i)
                B[v] = L[0]

    # Only a part of what is read is written: the rest comes from earlier iterations.
    # CHECK-LABEL: def partly
    # CHECK: L = T.{{[a-z_]*}}buffer((16,))
    # CHECK: for i in range(8):
    @T.prim_func
    def partly(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        L = T.alloc_buffer((16,), "float32")
        for i in range(8):
            with T.block("L"):
                v = T.axis.spatial(8, i)
                L[v] = A[v]
            with T.block("B"):
                v = T.axis.spatial(8, i)
                T.reads(L[0:8])
                B[v] = L[0]

    # Each row is written before it is read: the buffer belongs into the loop, and no further, for
    # the next loops are two.
    # CHECK-LABEL: def rows
    # CHECK: for i in T.parallel(8):
    # CHECK-NEXT: L = T.{{[a-z_]*}}buffer((8, 16))
    # CHECK-NEXT: for j in range(16):
    @T.prim_func
    def rows(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        L = T.alloc_buffer((8, 16), "float32")
        for i in T.parallel(8):
            for j in range(16):
                with T.block("L"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    L[vi, vj] = A[vi, vj] + T.float32(1)
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = L[vi, 15 - vj]
