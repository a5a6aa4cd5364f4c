from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((18,), "float32"), Y: T.Buffer((14,), "float32")):
        B = T.alloc_buffer((16,), "float32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + A[vi + 2]
        for i in range(14):
            with T.block("Y"):
                vi = T.axis.spatial(14, i)
                Y[vi] = B[vi] + B[vi + 2]
