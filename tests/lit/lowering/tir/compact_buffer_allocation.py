# RUN: relax-opt %s --tir-compact-buffer-allocation --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # An index that is read from memory may be any: that dimension stays whole.
    # CHECK-LABEL: def gathered
    # CHECK: L = T.{{[a-z_]*}}buffer((16, 1))
    # CHECK: L[X[i], 0] = A[i]
    @T.prim_func
    def gathered(
        X: T.Buffer((8,), "int32"), A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")
    ):
        L = T.alloc_buffer((16, 4), "float32")
        for i in range(8):
            L[X[i], 2] = A[i]
        for i in range(8):
            B[i] = L[X[i], 2]

    # One row of one tile is used in an iteration; indices start at the tile.
    # CHECK-LABEL: def tile
    # CHECK: for i, j_0 in T.grid(8, 4):
    # CHECK: L = T.{{[a-z_]*}}buffer((1, 6))
    # CHECK: L[0, j_1] = A[vi, vj]
    # CHECK: B[vi, vj] = L[0, j_1] + L[0, j_1 + 2]
    @T.prim_func
    def tile(A: T.Buffer((8, 20), "float32"), B: T.Buffer((8, 16), "float32")):
        for i, j_0 in T.grid(8, 4):
            with T.block("tile"):
                T.reads(A[i, j_0 * 4 : j_0 * 4 + 6])
                T.writes(B[i, j_0 * 4 : j_0 * 4 + 4])
                L = T.alloc_buffer((8, 20), "float32")
                for j_1 in range(6):
                    with T.block("L"):
                        vi = T.axis.spatial(8, i)
                        vj = T.axis.spatial(20, j_0 * 4 + j_1)
                        L[vi, vj] = A[vi, vj]
                for j_1 in range(4):
                    with T.block("B"):
                        vi = T.axis.spatial(8, i)
                        vj = T.axis.spatial(16, j_0 * 4 + j_1)
                        B[vi, vj] = L[vi, vj] + L[vi, vj + 2]
