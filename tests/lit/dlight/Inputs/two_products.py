from relax_mlir.script import tir as T


@T.prim_func
def main(
    A: T.Buffer((48, 40), "float32"),
    B: T.Buffer((40, 56), "float32"),
    C: T.Buffer((56, 24), "float32"),
    D: T.Buffer((48, 24), "float32"),
):
    AB = T.alloc_buffer((48, 56), "float32")
    largest = T.alloc_buffer((48,), "float32")
    for i, j, k in T.grid(48, 56, 40):
        with T.block("AB"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                AB[vi, vj] = T.float32(0)
            AB[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, k in T.grid(48, 56):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.float32(-1e30)
            largest[vi] = T.max(largest[vi], AB[vi, vk])
    shifted = T.alloc_buffer((48, 56), "float32")
    for i, j in T.grid(48, 56):
        with T.block("shifted"):
            vi, vj = T.axis.remap("SS", [i, j])
            shifted[vi, vj] = AB[vi, vj] - largest[vi]
    for i, j, k in T.grid(48, 24, 56):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] += shifted[vi, vk] * C[vk, vj]
