from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((30, 40), "float32"), D: T.Buffer((34, 44), "float32")):
        for i, j in T.grid(34, 44):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.if_then_else(
                    vi >= 2 and vi < 32 and vj >= 2 and vj < 42, A[vi - 2, vj - 2], T.float32(0)
                )
