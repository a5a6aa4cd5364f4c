from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((20, 30), "float32"), D: T.Buffer((20, 30), "float32")):
        for i, j in T.grid(20, 30):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(20, 30):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj] + T.float32(1)
