"""The table through which compiled host code reaches its device.

An array of 64-bit words; `lowering/tir_to_gpu/host_device.py` and
`lowering/relax_to_host/device_objects.py` say what host code calls through it.  A table is never
freed: code and tensors that point to it may be the last things that a process gives up.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = [
    "ALLOC_TYPE", "COPY_TYPE", "DELETE_TYPE", "FREE_TYPE", "LAUNCH_TYPE", "DeviceTable",
]  # fmt: skip

_i64, _ptr = ctypes.c_int64, ctypes.c_void_p
LAUNCH_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, _ptr, *[_i64] * 7, _ptr, _ptr)
"""launch(kernel, gx, gy, gz, bx, by, bz, shared bytes, stream, args); 0 is success."""
ALLOC_TYPE = ctypes.CFUNCTYPE(_i64, _i64)
FREE_TYPE = ctypes.CFUNCTYPE(None, _i64)
DELETE_TYPE = ctypes.CFUNCTYPE(None, _ptr)
"""Deleter of a DLManagedTensorVersioned that libc's malloc made, with its data on the device."""
COPY_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, _i64, _i64, _i64)
"""copy(to, from, bytes); 0 is success."""

_WORDS = ("device", "launch", "alloc", "free", "delete", "to_host", "to_device", "stream",
          "capturing", "copy")  # fmt: skip
_KEPT: list[Any] = []


class DeviceTable:
    """The words of a device; functions are ctypes callbacks or addresses of machine code."""

    def __init__(self, device_type: int, index: int) -> None:
        self._words = (_i64 * len(_WORDS))()
        _KEPT.append(self._words)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._words))
        self._words[0] = device_type | index << 32

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    def word_address(self, name: str) -> int:
        """Where a word is."""
        return self.address + 8 * _WORDS.index(name)

    def set(self, name: str, value: Any) -> None:
        """Set a word to a number or to the address of a ctypes function, which is kept for ever."""
        if not isinstance(value, int):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
            value = ctypes.cast(value, ctypes.c_void_p).value or 0
        self._words[_WORDS.index(name)] = value

    def get(self, name: str) -> int:
        return self._words[_WORDS.index(name)]
