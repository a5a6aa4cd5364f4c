from relax_mlir.script import tir as T


@T.prim_func
def main(a: T.handle, B: T.Buffer((48, 64), "float32"), c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 64), "float32")
    C = T.match_buffer(c, (n, 48), "float32")
    for i, j, k in T.grid(n, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
