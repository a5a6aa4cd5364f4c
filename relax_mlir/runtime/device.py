"""Devices: where a tensor lives and a function runs (TVM: `tvm.cpu()`, `tvm.device("cpu", 0)`).

A device object can be made for every kind that DLPack names; whether it exists on this machine is
asked by `Device.exist`, and using one that does not exist is an error that says so.
"""

from __future__ import annotations

import ctypes.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from relax_mlir.runtime.ffi import tvm_ffi

__all__ = [
    "DLDeviceType",
    "Device",
    "cpu",
    "cuda",
    "device",
    "enabled",
    "ext_dev",
    "gpu",
    "hexagon",
    "metal",
    "num_threads",
    "opencl",
    "require_cpu",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]

DLDeviceType = tvm_ffi.DLDeviceType

# Device kinds whose presence is told by whether their driver library can be loaded.
_DRIVERS = {"cuda": "cuda", "rocm": "amdhip64", "vulkan": "vulkan", "opencl": "OpenCL"}


class Device(tvm_ffi.Device):
    """A device kind and index; prints as `cpu:0`."""

    __slots__ = ()

    @property
    def exist(self) -> bool:
        """True when the device is present on this machine and its driver can be loaded."""
        if self.type == "cpu":
            return True
        return _driver_present(self.type)

    @property
    def device_name(self) -> str | None:
        """The vendor's name of the device; None when it is not known."""
        return _cpu_model() if self.type == "cpu" else None

    @property
    def multi_processor_count(self) -> int | None:
        """Number of cores (CPU); None when it is not known."""
        return os.cpu_count() if self.type == "cpu" else None

    @property
    def max_threads_per_block(self) -> int | None:
        """Threads a block may have; None on the CPU, which has no blocks."""
        return None

    @property
    def warp_size(self) -> int | None:
        """Threads that execute together; 1 on the CPU."""
        return 1 if self.type == "cpu" else None

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of shared memory a block may have; None on the CPU."""
        return None

    @property
    def compute_version(self) -> str | None:
        """The compute capability of a GPU; None on the CPU."""
        return None

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory of the device; None when it is not known."""
        return _memory("SC_PHYS_PAGES") if self.type == "cpu" else None

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free; None when it is not known."""
        return _memory("SC_AVPHYS_PAGES") if self.type == "cpu" else None

    def sync(self, stream: object = None) -> None:
        """Wait until everything issued to the device is done; returns at once on the CPU."""
        require_cpu(self, "sync")


# Every device that tvm_ffi hands out (Tensor.device, arguments of callbacks) is then ours.
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
    return Device(kind, index)


def enabled(target: str) -> bool:
    """True when this build makes code for the target: `enabled("llvm")`."""
    return target.split()[0] in ("llvm", "cpu", "c")


def num_threads() -> int:
    """Cores that parallel loops can use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


def _maker(kind: str) -> Callable[..., Device]:
    def make(dev_id: int = 0) -> Device:
        return Device(kind, dev_id)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"The {kind} device with the given index."
    return make


cpu = _maker("cpu")
cuda = _maker("cuda")
rocm = _maker("rocm")
opencl = _maker("opencl")
metal = _maker("metal")
vpi = _maker("vpi")
vulkan = _maker("vulkan")
ext_dev = _maker("ext_dev")
hexagon = _maker("hexagon")
webgpu = _maker("webgpu")
gpu = cuda
