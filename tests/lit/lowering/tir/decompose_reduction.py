# RUN: relax-opt %s --tir-decompose-reduction --emit=tvmscript | FileCheck %s
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    # The initialisation of a tile comes before its reduction loops, as vectors and without them.
    # CHECK-LABEL: def matmul
    # CHECK: for i, j_0 in T.grid(4, 2):
    # CHECK-NEXT: for j_1 in T.vectorized(8):
    # CHECK-NEXT: T.block("C_init")
    # CHECK: C[vi, vj] = T.float32(0.0)
    # CHECK: for k_0, k_1 in T.grid(2, 4):
    # CHECK-NEXT: for j_1 in T.vectorized(8):
    # CHECK-NEXT: T.block("C"):
    # CHECK-NOT: T.init
    # CHECK: C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    @T.prim_func
    def matmul(
        A: T.Buffer((4, 8), "float32"),
        B: T.Buffer((8, 16), "float32"),
        C: T.Buffer((4, 16), "float32"),
    ):
        for i, j_0, k_0, k_1 in T.grid(4, 2, 2, 4):
            for j_1 in T.vectorized(8):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(16, j_0 * 8 + j_1)
                    vk = T.axis.reduce(8, k_0 * 4 + k_1)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    # Another statement of the loop reads what is initialised: nothing moves.
    # CHECK-LABEL: def observed
    # CHECK: for k in range(8):
    # CHECK: T.block("C"):
    # CHECK: T.init
    @T.prim_func
    def observed(
        A: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32"), D: T.Buffer((8,), "float32")
    ):
        for k in range(8):
            with T.block("D"):
                v = T.axis.opaque(8, k)
                D[v] = C[0]
            with T.block("C"):
                v = T.axis.reduce(8, k)
                with T.init():
                    C[0] = T.float32(1)
                C[0] = C[0] * A[v]

    # Two points store to the same element, one after the other: nothing moves.
    # CHECK-LABEL: def overlapping
    # CHECK: T.init
    @T.prim_func
    def overlapping(A: T.Buffer((4, 8), "float32"), C: T.Buffer((2,), "float32")):
        for k, i in T.grid(8, 4):
            with T.block("C"):
                vk, vi = T.axis.remap("RS", [k, i])
                with T.init():
                    C[vi // 2] = T.float32(0)
                C[vi // 2] = C[vi // 2] + A[vi, vk]

    # A loop that neither the reduction nor the point depends on starts over: nothing moves.
    # CHECK-LABEL: def repeated
    # CHECK: T.init
    @T.prim_func
    def repeated(A: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
        for k, _r in T.grid(8, 3):
            with T.block("C"):
                vk = T.axis.reduce(8, k)
                with T.init():
                    C[0] = T.float32(0)
                C[0] = C[0] + A[vk]

    # The initialisation also runs where there are no steps; the condition on the point stays.
    # CHECK-LABEL: def symbolic
    # CHECK: for i_1 in range(4):
    # CHECK-NEXT: T.block("C_init")
    # CHECK: T.where({{[^<]*}} < m)
    # CHECK-NEXT: T.reads()
    # CHECK: for k_0, i_1, k_1 in T.grid({{.*}}, 4, 8):
    # CHECK-NEXT: T.block("C"):
    # CHECK: T.where({{[^<]*}} < m and {{[^<]*}} < n)
    @T.prim_func
    def symbolic(a: T.handle, c: T.handle):
        m, n = T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        C = T.match_buffer(c, (m,), "float32")
        for i_0, k_0, i_1, k_1 in T.grid((m + 3) // 4, (n + 7) // 8, 4, 8):
            with T.block("C"):
                vi = T.axis.spatial(m, i_0 * 4 + i_1)
                vk = T.axis.reduce(n, k_0 * 8 + k_1)
                T.where(i_0 * 4 + i_1 < m and k_0 * 8 + k_1 < n)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
