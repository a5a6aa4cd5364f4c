from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(
        idx: T.Buffer((128, 128), "int32"),
        val: T.Buffer((128, 128), "float32"),
        av0: T.Buffer((128,), "int32"),
        av1: T.Buffer((128,), "float32"),
    ):
        for i0, i1 in T.grid(128, 128):
            with T.block("argmax"):
                i = T.axis.spatial(128, i0)
                k = T.axis.reduce(128, i1)
                T.reads(idx[i, k], val[i, k])
                T.writes(av0[i], av1[i])
                with T.init():
                    av0[i] = T.int32(-1)
                    av1[i] = T.float32(-3.4028234663852886e38)
                v0: T.let[T.int32] = T.Select(av1[i] >= val[i, k], av0[i], idx[i, k])
                v1: T.let[T.float32] = T.Select(av1[i] >= val[i, k], av1[i], val[i, k])
                av0[i] = v0
                av1[i] = v1
