from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((20, 30), "float32"), D: T.Buffer((20, 30), "float32")):
        B = T.alloc_buffer((20, 30), "float32")
        C = T.alloc_buffer((20, 30), "float32")
        for i, j in T.grid(20, 30):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(20, 30):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(B[vi, vj])
        for i, j in T.grid(20, 30):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)
