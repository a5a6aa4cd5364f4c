"""Devices: where a tensor lives and a function runs (TVM: `tvm.cpu()`, `tvm.device("cpu", 0)`).

A device object can be made for every kind that DLPack names; whether it exists on this machine is
asked by `Device.exist`, and using one that does not exist is an error that says so.  "cuda-emu" is
the emulated GPU, which every machine has (DLPack's kDLExtDev).
"""

from __future__ import annotations

import ctypes.util
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from relax_mlir.cores import usable_cores
from relax_mlir.runtime.ffi import tvm_ffi

__all__ = [
    "DLDeviceType",
    "Device",
    "cpu",
    "cuda",
    "cuda_emu",
    "device",
    "enabled",
    "ext_dev",
    "gpu",
    "hexagon",
    "metal",
    "num_threads",
    "opencl",
    "require_cpu",
    "require_present",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]

DLDeviceType = tvm_ffi.DLDeviceType

# Device kinds whose presence is told by whether their driver library can be loaded.
_DRIVERS = {"cuda": "cuda", "rocm": "amdhip64", "vulkan": "vulkan", "opencl": "OpenCL"}


_EMULATED = "cuda-emu"
# tvm_ffi's own tables: names of devices as they are read and printed.
tvm_ffi.Device._DEVICE_NAME_TO_TYPE[_EMULATED] = int(DLDeviceType.kDLExtDev)
tvm_ffi.Device._DEVICE_TYPE_TO_NAME[int(DLDeviceType.kDLExtDev)] = _EMULATED


class Device(tvm_ffi.Device):
    """A device kind and index; prints as `cpu:0`."""

    __slots__ = ()

    def _backend(self) -> Any:
        """The backend of a GPU; None on the CPU and for a device that this machine has not."""
        if self.type not in (_EMULATED, "cuda"):
            return None
        from relax_mlir.runtime.device_api.backend import backend_of

        try:
            return backend_of(self)
        except RuntimeError:
            return None

    def _property(self, name: str) -> Any:
        backend = self._backend()
        return None if backend is None else getattr(backend.properties(), name)

    @property
    def exist(self) -> bool:
        """True when the device is present on this machine and its driver can be loaded."""
        if self.type == "cpu":
            return True
        if self.type in (_EMULATED, "cuda"):
            return self._backend() is not None
        return _driver_present(self.type)

    @property
    def device_name(self) -> str | None:
        """The vendor's name of the device; None when it is not known."""
        return _cpu_model() if self.type == "cpu" else self._property("name")

    @property
    def multi_processor_count(self) -> int | None:
        """Number of cores (CPU) or of multiprocessors; None when it is not known."""
        return os.cpu_count() if self.type == "cpu" else self._property("multi_processor_count")

    @property
    def max_threads_per_block(self) -> int | None:
        """Threads a block may have; None on the CPU, which has no blocks."""
        return self._property("max_threads_per_block")

    @property
    def warp_size(self) -> int | None:
        """Threads that execute together; 1 on the CPU."""
        return 1 if self.type == "cpu" else self._property("warp_size")

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of shared memory a block may have; None on the CPU."""
        return self._property("max_shared_memory_per_block")

    @property
    def max_registers_per_block(self) -> int | None:
        """Registers of 32 bits that a block may have; None on the CPU."""
        return self._property("max_registers_per_block")

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """The largest extents of a block; None on the CPU."""
        sizes = self._property("max_thread_dimensions")
        return None if sizes is None else list(sizes)

    @property
    def max_clock_rate(self) -> int | None:
        """Clock of a GPU in kHz; None on the CPU."""
        return self._property("max_clock_rate")

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Bytes of the second-level cache of a GPU; None on the CPU."""
        return self._property("l2_cache_size_bytes")

    @property
    def compute_version(self) -> str | None:
        """The compute capability of a GPU; None on the CPU."""
        return self._property("compute_version")

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory of the device; None when it is not known."""
        if self.type == "cpu":
            return _memory("SC_PHYS_PAGES")
        return self._property("total_global_memory")

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free; None when it is not known."""
        if self.type == "cpu":
            return _memory("SC_AVPHYS_PAGES")
        backend = self._backend()
        return None if backend is None else backend.available_memory()

    def sync(self, stream: Any = None) -> None:
        """Wait until everything issued to the device, or to one of its streams, is done; returns at
        once on the CPU."""
        require_present(self, "sync")
        backend = self._backend()
        if backend is not None:
            backend.synchronize(getattr(stream, "handle", stream) or 0)

    def create_raw_stream(self) -> int:
        """A new stream of a GPU, as a number; `free_raw_stream` gives it back."""
        return self._gpu("create_raw_stream").create_stream()

    def free_raw_stream(self, stream: int) -> None:
        """Give a stream back."""
        self._gpu("free_raw_stream").destroy_stream(stream)

    def set_raw_stream(self, stream: int) -> None:
        """Launch kernels on a stream from now on (0: the default one)."""
        self._gpu("set_raw_stream").stream = stream

    def _gpu(self, what: str) -> Any:
        require_present(self, what)
        backend = self._backend()
        if backend is None:
            raise RuntimeError(f"{what}: device {self} has no streams")
        return backend


# Every device that tvm_ffi hands out (Tensor.device, arguments of callbacks) is ours, unless TVM is
# in the process: its virtual machine takes no other class than its own.
if "tvm.runtime.device" not in sys.modules:
    tvm_ffi.core._set_class_device(Device)


@cache
def _driver_present(kind: str) -> bool:
    library = _DRIVERS.get(kind)
    return library is not None and ctypes.util.find_library(library) is not None


def _memory(pages: str) -> int | None:
    if pages not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


@cache
def _cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return None


def device(device_type: str | int | DLDeviceType, index: int | None = None) -> Device:
    """Make a device from a kind and an index: `device("cpu", 0)`, `device("cuda:1")`.

    Raises ValueError when the kind is unknown.
    """
    kind = "cpu" if device_type in ("llvm", "c") else device_type
    if kind == "cuda_emu":
        kind = _EMULATED
    return Device(kind, index)


def enabled(target: str) -> bool:
    """True when this build makes code for the target: `enabled("llvm")`."""
    kind = target.split()[0]
    if kind == "cuda":
        from importlib.util import find_spec

        return find_spec("llvmlite") is not None
    return kind in ("llvm", "cpu", "c", _EMULATED)


def num_threads() -> int:
    """Cores that parallel loops can use."""
    return usable_cores()


def require_cpu(dev: Any, what: str) -> None:
    """Refuse a device that this build cannot use; `what` names the operation in the message."""
    if dev is None:
        return
    if not isinstance(dev, tvm_ffi.Device):
        raise TypeError(f"{what}: expected a device such as relax_mlir.cpu(), got {dev!r}")
    if dev.type == "cpu":
        return
    reason = "no such device on this machine" if not _driver_present(dev.type) else "not supported"
    raise RuntimeError(f"{what}: device {dev} cannot be used ({reason}); use relax_mlir.cpu()")


def require_present(dev: Any, what: str) -> None:
    """Refuse a device that is neither the CPU nor a GPU of this machine; the message says why."""
    if dev is not None and isinstance(dev, tvm_ffi.Device) and dev.type in (_EMULATED, "cuda"):
        from relax_mlir.runtime.device_api.backend import backend_of

        try:
            backend_of(dev)
        except RuntimeError as error:
            raise RuntimeError(f"{what}: device {dev} cannot be used: {error}") from None
        return
    require_cpu(dev, what)


def _maker(kind: str) -> Callable[..., Device]:
    def make(dev_id: int = 0) -> Device:
        return Device(kind, dev_id)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"The {kind} device with the given index."
    return make


cpu = _maker("cpu")
cuda = _maker("cuda")
cuda_emu = _maker(_EMULATED)
rocm = _maker("rocm")
opencl = _maker("opencl")
metal = _maker("metal")
vpi = _maker("vpi")
vulkan = _maker("vulkan")
ext_dev = _maker("ext_dev")
hexagon = _maker("hexagon")
webgpu = _maker("webgpu")
gpu = cuda
