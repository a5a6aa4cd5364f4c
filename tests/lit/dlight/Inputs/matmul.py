from relax_mlir.script import tir as T


@T.prim_func
def main(
    A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 128), "float32"),
    C: T.Buffer((64, 128), "float32"),
):  # fmt: skip
    for i, j, k in T.grid(64, 128, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
