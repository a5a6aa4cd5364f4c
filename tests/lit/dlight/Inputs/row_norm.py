from relax_mlir.script import tir as T


@T.prim_func
def main(A: T.Buffer((24, 64), "float32"), D: T.Buffer((24, 64), "float32")):
    C = T.alloc_buffer((24,), "float32")
    for i, k in T.grid(24, 64):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * A[vi, vk]
    for i, j in T.grid(24, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * T.rsqrt(C[vi])
