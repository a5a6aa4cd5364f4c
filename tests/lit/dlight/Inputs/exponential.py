from relax_mlir.script import tir as T


@T.prim_func
def main(A: T.Buffer((40, 70), "float32"), B: T.Buffer((40, 70), "float32")):
    E = T.alloc_buffer((40, 70), "float32")
    for i, j in T.grid(40, 70):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj])
    for i, j in T.grid(40, 70):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = E[vi, vj] + T.float32(1)
