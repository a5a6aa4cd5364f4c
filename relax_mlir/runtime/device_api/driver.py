"""The CUDA driver through ctypes: the functions that are used, with their errors as exceptions."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

__all__ = ["CudaDriver", "cuda_driver"]

_i32, _u32, _u64, _ptr = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
_out, _size, _float = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float

_LIBRARIES = {"win32": ("nvcuda.dll",)}.get(sys.platform, ("libcuda.so.1", "libcuda.so"))

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_u32,),
    "cuDriverGetVersion": (_out,),
    "cuDeviceGetCount": (_out,),
    "cuDeviceGet": (_out, _i32),
    "cuDeviceGetName": (ctypes.c_char_p, _i32, _i32),
    "cuDeviceGetAttribute": (_out, _i32, _i32),
    "cuDeviceTotalMem_v2": (_out, _i32),
    "cuDevicePrimaryCtxRetain": (_out, _i32),
    "cuCtxSetCurrent": (_ptr,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (_out, _out),
    "cuMemAlloc_v2": (_out, _size),
    "cuMemFree_v2": (_u64,),
    "cuMemAllocAsync": (_out, _size, _ptr),
    "cuMemFreeAsync": (_u64, _ptr),
    "cuDeviceGetDefaultMemPool": (_out, _i32),
    "cuMemPoolSetAttribute": (_ptr, _i32, _out),
    "cuMemcpyHtoDAsync_v2": (_u64, _ptr, _size, _ptr),
    "cuMemcpyDtoHAsync_v2": (_ptr, _u64, _size, _ptr),
    "cuMemcpyDtoDAsync_v2": (_u64, _u64, _size, _ptr),
    "cuModuleLoadDataEx": (_out, ctypes.c_char_p, _u32, _ptr, _ptr),
    "cuModuleGetFunction": (_out, _ptr, ctypes.c_char_p),
    "cuModuleUnload": (_ptr,),
    "cuFuncSetAttribute": (_ptr, _i32, _i32),
    "cuLaunchKernel": (_ptr, *[_u32] * 7, _ptr, _ptr, _ptr),
    "cuStreamCreate": (_out, _u32),
    "cuStreamDestroy_v2": (_ptr,),
    "cuStreamSynchronize": (_ptr,),
    "cuEventCreate": (_out, _u32),
    "cuEventDestroy_v2": (_ptr,),
    "cuEventRecord": (_ptr, _ptr),
    "cuEventSynchronize": (_ptr,),
    "cuEventElapsedTime": (_out, _ptr, _ptr),
    "cuStreamBeginCapture_v2": (_ptr, _i32),
    "cuStreamEndCapture": (_ptr, _out),
    "cuGraphInstantiateWithFlags": (_out, _ptr, _u64),
    "cuGraphLaunch": (_ptr, _ptr),
    "cuGraphExecDestroy": (_ptr,),
    "cuGraphDestroy": (_ptr,),
    "cuGetErrorName": (_i32, _out),
    "cuGetErrorString": (_i32, _out),
}
_OUT_OF_MEMORY = 2
_INVALID_VALUE = 1
_HINTS = {
    ("cuLaunchKernel", _INVALID_VALUE): "; a grid has at most 2,147,483,647 blocks along "
    "blockIdx.x and 65,535 along y and z, which sizes known at run time may exceed"
}
"""What a status of a function is likely to come from."""
_LOG_BYTES = 16384
# CUjit_option: where the compiler of PTX writes what went wrong, and how much it may write.
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6


class CudaDriver:
    """The functions of a libcuda; a call that fails raises RuntimeError (MemoryError when the
    device has no memory left) with the driver's own words."""

    def __init__(self, library: Any) -> None:
        self._functions: dict[str, Any] = {}
        for name, arguments in _FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise RuntimeError(f"the CUDA driver is too old: it has no {name}") from None
            function.argtypes, function.restype = list(arguments), ctypes.c_int32
            self._functions[name] = function
        self.call("cuInit", 0)

    def address(self, name: str) -> int:
        """Where a function is, for machine code."""
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raises as the class says."""
        status = self._functions[name](*arguments)
        if status:
            raise self.error(name, status)

    def get(self, name: str, *arguments: Any, kind: Any = ctypes.c_void_p) -> Any:
        """Call a function whose first argument is where it writes its result; returns that."""
        result = kind()
        self.call(name, ctypes.addressof(result), *arguments)
        return result.value or 0

    def error(self, name: str, status: int) -> Exception:
        """The exception for a status that a function has returned."""
        words = f"{self._word('cuGetErrorName', status)}: {self._word('cuGetErrorString', status)}"
        kind = MemoryError if status == _OUT_OF_MEMORY else RuntimeError
        hint = _HINTS.get((name, status), "")
        return kind(f"{name} failed: {words}{hint}")

    def _word(self, name: str, status: int) -> str:
        text = ctypes.c_char_p()
        self._functions[name](status, ctypes.addressof(text))
        return (text.value or b"error %d" % status).decode()

    def load_module(self, source: str) -> int:
        """A module from PTX.  Raises RuntimeError with the log of the driver's compiler."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int32 * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        try:
            return self.get(
                "cuModuleLoadDataEx", source.encode(), 2, ctypes.addressof(options),
                ctypes.addressof(values),
            )  # fmt: skip
        except RuntimeError as error:
            written = log.value.decode(errors="replace").strip()
            raise RuntimeError(f"{error}\n{written}" if written else str(error)) from None


@cache
def cuda_driver() -> CudaDriver:
    """The driver of this machine.  Raises RuntimeError when there is none."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return CudaDriver(library)
    raise RuntimeError(
        "no CUDA driver is installed on this machine; "
        'relax_mlir.device("cuda-emu") runs the same kernels on the CPU'
    )
