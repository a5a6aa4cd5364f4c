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

INTRINSICS: dict[str, tuple[str, str]] = {
    # TVM's name: AVX-512 VNNI's vpdpbusd.
    "dot_16x4_vnni": (_DOT_16X4_DESC, _DOT_16X4_VNNI),
}
"""Name -> (description, implementation)."""
