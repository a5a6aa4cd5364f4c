"""Tensor cores by `wgmma.mma_async` (sm_90a): four warps multiply tiles that lie in shared memory.

An intrinsic is one warp's part of what its warpgroup does: 16 of the 64 rows of A and of the sums.
The warps of a group, four that follow each other along threadIdx.y, have the rows in their order.
Sums are a buffer of shape (32, registers) in scope "warp", in the layout of `mma`'s with more
columns.  A is [16, 64] of a buffer whose rows have 64 elements, the 128 bytes that its chunks of 16
are swizzled over; so is B as [N, 64].  B by columns is [N / 64, 64, 64]: the products after the
groups of 64 columns, so that those lie in rows of 128 bytes, too.

`T.ptx_wgmma(dtype, shape, factors, transposed, A, B, sums, offset)` multiplies a slice of 64 by
instructions of 16: "m64n256k16", the address of the warp's rows of A, that of B, the sums' storage
and the offset of a thread's first register in elements.
"""

from __future__ import annotations

from relax_mlir.tir.tensor_intrin.mma import (
    FACTORS,
    M_DIM,
    WARP_SIZE,
    shared_16x16_to_ldmatrix_32x8_layout,
    text_of_layout,
)
from relax_mlir.tir.tensor_intrin.script import Parameter, function

__all__ = ["COLUMNS", "PRODUCTS", "ROW_ELEMENTS", "multiply"]

ROW_ELEMENTS = 64
"""Elements of 16 bits in a row of 128 bytes: those of a slice, and of a group of B's columns."""

COLUMNS = (64, 128, 256)
"""Columns of the sums that there are intrinsics for."""

PRODUCTS = (("f16", "float16"), ("f16", "float32"), ("bf16", "float32"))
"""Short names of factors, and dtypes of sums."""


def multiply(
    short: str, sums: str, columns: int, transposed: bool, scope: str = "shared.dyn"
) -> tuple[str, str]:
    """`C += A * B` of a slice of 64 products: description, implementation.

    B is [N, K] where it is `transposed`, else by groups of columns.
    """
    factors, registers = FACTORS[short], M_DIM * columns // WARP_SIZE
    groups = (columns // ROW_ELEMENTS, ROW_ELEMENTS, ROW_ELEMENTS)
    a = Parameter("A", (M_DIM, ROW_ELEMENTS), factors.dtype, scope, ROW_ELEMENTS)
    b_shape = (columns, ROW_ELEMENTS) if transposed else groups
    b = Parameter("B", b_shape, factors.dtype, scope, ROW_ELEMENTS)
    c = Parameter("C", (WARP_SIZE, registers), sums, "warp", columns)
    sum_ = f"C[{', '.join(text_of_layout(shared_16x16_to_ldmatrix_32x8_layout, 'vi', 'vj'))}]"
    first = "A[vi, vk]"
    second = "B[vj, vk]" if transposed else f"B[vj // {ROW_ELEMENTS}, vk, vj % {ROW_ELEMENTS}]"
    left, right = (
        element if factors.dtype == sums else f'T.cast({element}, "{sums}")'
        for element in (first, second)
    )
    desc = f"""
        for i, j, k in T.grid({M_DIM}, {columns}, {ROW_ELEMENTS}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads({sum_}, {first}, {second})
                T.writes({sum_})
                {sum_} = {sum_} + {left} * {right}"""
    impl = f"""
        for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
            T.evaluate(T.ptx_wgmma("{sums}", "m64n{columns}k16", "{factors.ptx}", {transposed},
                A.access_ptr("r"), B.access_ptr("r"), C.data, C.elem_offset + tx * {registers}))"""
    name = f"wgmma_{short}"
    return (function(f"{name}_desc", [a, b, c], desc, [c, a, b], [c]),
            function(f"{name}_impl", [a, b, c], impl, [c, a, b], [c]))  # fmt: skip
