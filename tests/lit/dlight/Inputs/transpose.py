from relax_mlir.script import tir as T


@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 64), "float32")):
    for i, j in T.grid(48, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
