"""The TVM FFI's C ABI as text of the llvm dialect: structs, type indices, dtype words.

A function of the ABI is `int32_t f(void* handle, const Any* args, int32_t count, Any* result)`;
zero means success, anything else that an error was raised in the thread.  Numbers are those of
`tvm/ffi/c_api.h` and `dlpack.h`.
"""

from __future__ import annotations

import re

from relax_mlir.errors import CompileError

__all__ = [
    "ANY",
    "DLTENSOR",
    "KIND",
    "MANAGED",
    "OBJECT_HEADER",
    "dtype_word",
    "memref_descriptor",
]

# {type index, padding, payload}
ANY = "!llvm.struct<(i32, i32, i64)>"
# {data, {device type, id}, ndim, dtype word, shape, strides, byte offset}
DLTENSOR = "!llvm.struct<(ptr, struct<(i32, i32)>, i32, i32, ptr, ptr, i64)>"
# DLManagedTensorVersioned: {major, minor, context, deleter, flags, tensor}
MANAGED = f"!llvm.struct<(i32, i32, ptr, ptr, i64, {DLTENSOR.removeprefix('!llvm.')})>"
# sizeof(TVMFFIObject): what an object adds (a tensor its DLTensor) lies after it.
OBJECT_HEADER = 24

KIND = {
    "none": 0,
    "int": 1,
    "bool": 2,
    "float": 3,
    "opaque_ptr": 4,
    "dtype": 5,
    "device": 6,
    "dltensor_ptr": 7,
    "raw_str": 8,
    "small_str": 11,
    "first_object": 64,
    "str": 65,
    "function": 68,
    "shape": 69,
    "tensor": 70,
    "array": 71,
}

_CODES = {
    "int": 0,
    "uint": 1,
    "float": 2,
    "bfloat": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
    "float6_e2m3fn": 15,
    "float6_e3m2fn": 16,
    "float4_e2m1fn": 17,
}


def dtype_word(dtype: str) -> int:
    """The DLDataType of TVM's dtype name as one 32-bit word: code | bits << 8 | lanes << 16."""
    code, bits = _code_and_bits(dtype)
    return code | bits << 8 | 1 << 16


def _code_and_bits(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 6, 8
    if dtype == "handle":
        return 3, 64
    match = re.fullmatch(r"(u?int|float|bfloat)(\d+)(_\w+)?", dtype)
    # Small floats have a code for each format, other kinds one for all widths.
    code = None if match is None else _CODES.get(dtype if match.group(3) else match.group(1))
    if match is None or code is None:
        raise CompileError(
            f"a buffer of {dtype} cannot be an argument or a constant: DLPack has no such dtype",
            hint="vectors are stored in a buffer of their elements",
        )
    return code, int(match.group(2))


def memref_descriptor(rank: int) -> str:
    """The struct that a ranked memref becomes: {allocated, aligned, offset, sizes, strides}."""
    if rank == 0:
        return "!llvm.struct<(ptr, ptr, i64)>"
    return f"!llvm.struct<(ptr, ptr, i64, array<{rank} x i64>, array<{rank} x i64>)>"
