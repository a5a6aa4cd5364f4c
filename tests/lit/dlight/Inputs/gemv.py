from relax_mlir.script import tir as T


@T.prim_func
def main(
    A: T.Buffer((256, 512), "float32"), B: T.Buffer((512,), "float32"),
    C: T.Buffer((256,), "float32"),
):  # fmt: skip
    for i, k in T.grid(256, 512):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
