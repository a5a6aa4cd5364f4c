"""How host code reaches the device that a compiled module was loaded on.

The table that `__relax_set_device(table, kernels)` is given (both addresses as integers) is an
array of 64-bit words, owned by the runtime, that outlives the module:

    0  the device: DLPack's type in the low half, its number in the high half
    1  launch(kernel: ptr, gx, gy, gz, bx, by, bz: i64, shared_bytes: i64, stream: ptr, args: ptr)
       -> i32, where `args` points to an array of pointers to the arguments' values; 0 is success,
       otherwise the error has been raised through the FFI
    2  alloc(bytes: i64) -> ptr; null when the error has been raised
    3  free(data: ptr)

`kernels` is an array with the handle of each kernel, which outlives the module too.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = [
    "ALLOC",
    "DEVICE",
    "DEVICE_KERNELS",
    "FREE",
    "LAUNCH",
    "SET_DEVICE",
    "TABLE",
    "device_text",
]

DEVICE_KERNELS = "relax.device_kernels"
"""Module attribute: the names of the kernels, in the order of their handles."""

SET_DEVICE = "__relax_set_device"
"""The exported function that makes a loaded module run on a device."""

TABLE = "relax_device_table"
DEVICE = "relax_device"
"""Global i64: word 0 of the table, kDLCUDA's 0 before a device is set."""

LAUNCH = "relax_device_launch"
ALLOC = "relax_device_alloc"
FREE = "relax_device_free"


@cache
def device_text() -> str:
    """MLIR text of the globals and functions that a module's host code uses."""
    return (Path(__file__).parent / "host_device.mlir").read_text(encoding="utf-8")
