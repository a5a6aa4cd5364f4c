"""The shapes of matrix instructions of GPUs, as descriptions; their code is the GPU back end's."""

from __future__ import annotations

SHAPES: dict[str, tuple[int, int, int, str, str]] = {
    # name: (m, n, k, dtype of the factors, dtype of the sums)
    "mma_m16n8k16_f16f16f32": (16, 8, 16, "float16", "float32"),
    "mma_m16n8k16_f16f16f16": (16, 8, 16, "float16", "float16"),
    "mma_m16n8k16_bf16bf16f32": (16, 8, 16, "bfloat16", "float32"),
    "mma_m16n8k8_tf32tf32f32": (16, 8, 8, "float32", "float32"),
    "mma_m16n8k32_s8s8s32": (16, 8, 32, "int8", "int32"),
    "wmma_sync_16x16x16_f16f16f32": (16, 16, 16, "float16", "float32"),
    "wmma_sync_16x16x16_f16f16f16": (16, 16, 16, "float16", "float16"),
    "wmma_sync_16x16x16_s8s8s32": (16, 16, 16, "int8", "int32"),
}


def description(name: str) -> str:
    """`C[m, n] += A[m, k] * B[k, n]` of an instruction's shape, as TVMScript.

    Raises KeyError for an unknown name.
    """
    m, n, k, factors, sums = SHAPES[name]
    a, b = "A[vi, vk]", "B[vk, vj]"
    if factors != sums:
        a, b = f'T.cast({a}, "{sums}")', f'T.cast({b}, "{sums}")'
    return f"""
@T.prim_func
def {name}_desc(
    A: T.Buffer(({m}, {k}), "{factors}", offset_factor=1),
    B: T.Buffer(({k}, {n}), "{factors}", offset_factor=1),
    C: T.Buffer(({m}, {n}), "{sums}", offset_factor=1),
):
    with T.block("root"):
        T.reads(C[0:{m}, 0:{n}], A[0:{m}, 0:{k}], B[0:{k}, 0:{n}])
        T.writes(C[0:{m}, 0:{n}])
        for i, j, k in T.grid({m}, {n}, {k}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + {a} * {b}
"""
