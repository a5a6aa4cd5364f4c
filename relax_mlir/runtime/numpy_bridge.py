"""numpy arrays as DLPack memory, also for the element types that numpy's DLPack refuses.

numpy exports only its own types; bfloat16, the float8/6/4 family and int4 of `ml_dtypes` travel as
unsigned bytes of the same memory, and the tensor's dtype word is set afterwards.  Types of fewer
than 8 bits are packed as DLPack defines it: the first element in the low bits of the first byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir.dialects.aligned_arrays import ALIGNMENT, aligned_empty

__all__ = [
    "ALIGNMENT",
    "PLAIN",
    "aligned_storage",
    "dtype_name",
    "from_bytes",
    "numpy_dtype",
    "packed_bits",
    "to_bytes",
]

# Element types by TVM's name that need `ml_dtypes`.
_EXTENDED = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (
        "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
        "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
        "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4", "int2", "uint2",
    )
    if hasattr(ml_dtypes, name)
}  # fmt: skip
_PACKED_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
PLAIN = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of one element of TVM's dtype `name`.

    Raises TypeError for a dtype that has no numpy form.
    """
    if name in _EXTENDED:
        return _EXTENDED[name]
    if name in PLAIN:
        return np.dtype(name)
    raise TypeError(f"dtype {name!r} has no numpy form")


def dtype_name(dtype: Any) -> str:
    """TVM's name of a numpy (or ml_dtypes) dtype, or of a name.

    Raises TypeError for element types that tensors cannot hold (objects, strings, complex).
    """
    name = np.dtype(dtype).name if not isinstance(dtype, str) else str(dtype)
    if name in PLAIN or name in _EXTENDED:
        return name
    raise TypeError(f"dtype {name!r} is not supported; expected one such as 'float32' or 'int64'")


def packed_bits(name: str) -> int | None:
    """Bits of one element when several share a byte, else None."""
    return _PACKED_BITS.get(name)


def aligned_storage(shape: Sequence[int], name: str) -> np.ndarray:
    """Uninitialised memory for a tensor, aligned to a cache line, as an array numpy can export.

    The array has the tensor's shape and an unsigned element type of the right size; a packed type
    gets a byte an element, of which the first part is used.
    """
    itemsize = 1 if packed_bits(name) else numpy_dtype(name).itemsize
    return aligned_empty(shape, f"u{itemsize}")


def to_bytes(array: np.ndarray) -> np.ndarray:
    """The contents of `array` as a tensor holds them, in a flat uint8 array."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    bits = packed_bits(dtype_name(array.dtype))
    return flat if bits is None else _pack(flat, bits)


def _pack(values: np.ndarray, bits: int) -> np.ndarray:
    """Pack the low `bits` bits of each byte, first element in the lowest bits."""
    per_byte = 8 // bits
    padded = np.zeros(-(-len(values) // per_byte) * per_byte, np.uint8)
    padded[: len(values)] = values & ((1 << bits) - 1)
    lanes = padded.reshape(-1, per_byte)
    packed = np.zeros(len(lanes), np.uint8)
    for lane in range(per_byte):
        packed |= lanes[:, lane] << (bits * lane)
    return packed


def from_bytes(raw: np.ndarray, shape: Sequence[int], name: str) -> np.ndarray:
    """The array of dtype `name` and `shape` held in a flat uint8 array (a copy)."""
    bits = packed_bits(name)
    if bits is None:
        return np.array(raw, copy=True).view(numpy_dtype(name)).reshape(shape)
    per_byte = 8 // bits
    lanes = np.empty((len(raw), per_byte), np.uint8)
    for lane in range(per_byte):
        lanes[:, lane] = (raw >> (bits * lane)) & ((1 << bits) - 1)
    values = lanes.reshape(-1)[: prod(shape)].copy()
    if name.startswith("int"):  # sign-extend, as ml_dtypes stores its signed types
        values = ((values << (8 - bits)).view(np.int8) >> (8 - bits)).view(np.uint8)
    return values.view(numpy_dtype(name)).reshape(shape)
