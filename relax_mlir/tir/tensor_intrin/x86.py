"""Dot products of small integers on x86: four factors a lane, sixteen lanes of 32 bits."""

from __future__ import annotations

_PARAMETERS = """
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
"""

_DOT_16X4_DESC = f"""
@T.prim_func
def dot_16x4_u8s8s32_desc({_PARAMETERS}):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i, k in T.grid(16, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")
"""

_DOT_16X4_VNNI = f"""
@T.prim_func
def dot_16x4_u8s8s32_vnni({_PARAMETERS}):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        factor = T.reinterpret(A.vload([0], "uint8x4"), dtype="int32")
        weights = T.reinterpret(B.vload([0, 0], dtype="int8x64"), dtype="int32x16")
        total = C.vload([0], dtype="int32x16")
        C[T.ramp(0, 1, 16)] = T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.vpdpbusd.512", total, T.broadcast(factor, 16), weights)
"""

_DOT_16X4_AVX512 = f"""
@T.prim_func
def dot_16x4_u8s8s32_avx512({_PARAMETERS}):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        factor = T.broadcast(T.reinterpret(A.vload([0], "uint8x4"), dtype="int32"), 16)
        pairs = T.call_llvm_pure_intrin(
            "int16x32", "llvm.x86.avx512.pmaddubs.w.512",
            T.reinterpret(factor, dtype="int8x64"), B.vload([0, 0], dtype="int8x64"))
        C[T.ramp(0, 1, 16)] = C[T.ramp(0, 1, 16)] + T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.pmaddw.d.512", pairs, T.broadcast(T.int16(1), 32))
"""

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"

INTRINSICS = {
    VNNI_DOT_16x4_INTRIN: lambda: (_DOT_16X4_DESC, _DOT_16X4_VNNI),
    # Sums of two products are kept in 16 bits and saturate, as TVM's.
    AVX512_DOT_16x4_INTRIN: lambda: (_DOT_16X4_DESC, _DOT_16X4_AVX512),
}
"""Name -> the maker of description and implementation."""
