from relax_mlir.script import tir as T


@T.prim_func
def main(A: T.Buffer((24, 100), "float32"), D: T.Buffer((24,), "float32")):
    C = T.alloc_buffer((24,), "float32")
    for i, k in T.grid(24, 100):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
    for i in range(24):
        with T.block("D"):
            vi = T.axis.spatial(24, i)
            D[vi] = C[vi] * T.float32(0.01)
