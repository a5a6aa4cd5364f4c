from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((12, 12, 16), "float32"), D: T.Buffer((8, 8, 16), "float32")):
        C = T.alloc_buffer((10, 10, 16), "float32")
        for i, j, c, a, b in T.grid(10, 10, 16, 3, 3):
            with T.block("C"):
                vi, vj, vc, va, vb = T.axis.remap("SSSRR", [i, j, c, a, b])
                with T.init():
                    C[vi, vj, vc] = T.float32(0)
                C[vi, vj, vc] = T.max(C[vi, vj, vc], A[vi + va, vj + vb, vc])
        for i, j, c, a, b in T.grid(8, 8, 16, 3, 3):
            with T.block("D"):
                vi, vj, vc, va, vb = T.axis.remap("SSSRR", [i, j, c, a, b])
                with T.init():
                    D[vi, vj, vc] = T.float32(0)
                D[vi, vj, vc] = T.max(D[vi, vj, vc], C[vi + va, vj + vb, vc])
