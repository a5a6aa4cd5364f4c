from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1, 3, 40, 40), "float32"), D: T.Buffer((1, 3, 80, 80), "float32")):
        for i0, i1, i2, i3 in T.grid(1, 3, 80, 80):
            with T.block("D"):
                n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
                D[n, c, vi, vj] = A[n, c, vi // 4 + vj // 4, vj // 2]
