"""Tensors over device memory: DLManagedTensorVersioned blocks made and freed here.

The block comes from libc's malloc and holds the struct, the sizes and the strides; its deleter,
word `delete` of the device's table, frees the data on the device and then the block.  Host code
makes the same blocks (`lowering/relax_to_host/device_objects.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.ffi import tvm_ffi

if TYPE_CHECKING:
    from relax_mlir.runtime.device_api.backend import Backend

__all__ = ["delete_managed", "new_tensor"]

_LIBC = ctypes.CDLL(None)
_LIBC.malloc.restype, _LIBC.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_LIBC.free.restype, _LIBC.free.argtypes = None, [ctypes.c_void_p]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("dtype", ctypes.c_uint32), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor),
    ]  # fmt: skip


_CAPSULE_NAME = b"dltensor_versioned"
_new_capsule: Any = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def new_tensor(backend: Backend, shape: Sequence[int], dtype_word: int, size: int) -> Any:
    """A tensor of `size` bytes on a device; its contents are not initialised.

    Raises MemoryError when the device has no memory left.
    """
    rank = len(shape)
    data = backend.allocate(size)
    block = _LIBC.malloc(ctypes.sizeof(_Managed) + 16 * rank)
    sizes = (ctypes.c_int64 * (2 * rank)).from_address(block + ctypes.sizeof(_Managed))
    for axis in range(rank):
        sizes[axis] = shape[axis]
        sizes[rank + axis] = prod(shape[axis + 1 :])
    managed = _Managed.from_address(block)
    managed.major, managed.minor, managed.flags = 1, 0, 0
    managed.context, managed.deleter = block, backend.table.get("delete")
    tensor = managed.tensor
    tensor.data, tensor.byte_offset = data, 0
    tensor.device_type, tensor.device_id = backend.device_type, backend.index
    tensor.ndim, tensor.dtype = rank, dtype_word
    tensor.shape = ctypes.addressof(sizes)
    tensor.strides = ctypes.addressof(sizes) + 8 * rank
    return tvm_ffi.from_dlpack(_new_capsule(block, _CAPSULE_NAME, None))


def delete_managed(managed: int, free: Callable[[int], None]) -> None:
    """The deleter of such a block."""
    data = _Managed.from_address(managed).tensor.data
    if data:
        free(data)
    _LIBC.free(managed)
