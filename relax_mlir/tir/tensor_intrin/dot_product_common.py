"""Dot products of four bytes, by GPUs' `dp4a`."""

from __future__ import annotations

from functools import partial

from relax_mlir.tir.tensor_intrin.script import Parameter, function

DP4A_S8S8S32_INTRIN = "dp4a_s8s8s32"
DP4A_U8S8S32_INTRIN = "dp4a_u8s8s32"
DP4A_S8U8S32_INTRIN = "dp4a_s8u8s32"
DP4A_U8U8U32_INTRIN = "dp4a_u8u8u32"


def dp4a(dtype_a: str, dtype_b: str, dtype_c: str) -> tuple[str, str]:
    """`C[0] += A[0:4] . B[0:4]` of factors in shared memory: description, implementation."""
    A = Parameter("A", (4,), dtype_a, "shared")
    B = Parameter("B", (4,), dtype_b, "shared")
    C = Parameter("C", (1,), dtype_c, "local")
    desc = f"""
        for i in range(4):
            with T.block("update"):
                vi = T.axis.remap("R", [i])
                C[0] = C[0] + T.cast(A[vi], "{dtype_c}") * T.cast(B[vi], "{dtype_c}")"""
    impl = f"""
        C[0] = C[0] + T.call_pure_extern("{dtype_c}", "__dp4a", A.vload([0], "{dtype_a}x4"),
            B.vload([0], "{dtype_b}x4"), T.{dtype_c}(0))"""
    return (function("dp4a_desc", [A, B, C], desc, [C, A, B], [C]),
            function("dp4a_impl", [A, B, C], impl, [C, A, B], [C]))  # fmt: skip


INTRINSICS = {
    DP4A_S8S8S32_INTRIN: partial(dp4a, "int8", "int8", "int32"),
    DP4A_U8S8S32_INTRIN: partial(dp4a, "uint8", "int8", "int32"),
    DP4A_S8U8S32_INTRIN: partial(dp4a, "int8", "uint8", "int32"),
    DP4A_U8U8U32_INTRIN: partial(dp4a, "uint8", "uint8", "uint32"),
}
"""Name -> the maker of description and implementation."""
