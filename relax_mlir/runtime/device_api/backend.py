"""What a device can do, and finding the backend of a device."""

from __future__ import annotations

import ctypes
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.device_api.table import DeviceTable

if TYPE_CHECKING:
    from relax_mlir.runtime.device_code import DeviceCode

__all__ = ["EMULATED", "Backend", "DeviceProperties", "backend_of", "is_gpu", "raise_in_thread"]

CUDA, EMULATED = 2, 12
"""DLPack's device types of the GPUs here: kDLCUDA, and kDLExtDev for the emulator."""


@dataclass(frozen=True)
class DeviceProperties:
    """What a GPU is; sizes in bytes, the clock in kHz."""

    name: str
    compute_version: str
    multi_processor_count: int
    warp_size: int
    max_threads_per_block: int
    max_shared_memory_per_block: int
    max_registers_per_block: int
    max_thread_dimensions: tuple[int, int, int]
    max_clock_rate: int
    l2_cache_size_bytes: int
    total_global_memory: int


class Backend(ABC):
    """Memory, kernels and streams of one device.

    Addresses are integers.  A stream is an integer too, 0 the default one.
    """

    def __init__(self, device_type: int, index: int) -> None:
        self.table = DeviceTable(device_type, index)
        self.device_type = device_type
        self.index = index
        self._errors = threading.local()

    # -- memory -------------------------------------------------------------------------------
    @abstractmethod
    def allocate(self, size: int) -> int:
        """A block of device memory.  Raises MemoryError when there is none left."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Give a block back."""

    @abstractmethod
    def to_device(self, target: int, source: int, size: int) -> None:
        """Copy from the host; the host's memory may be used again on return."""

    @abstractmethod
    def to_host(self, target: int, source: int, size: int) -> None:
        """Copy to the host, after everything issued before is done."""

    @abstractmethod
    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device."""

    @abstractmethod
    def available_memory(self) -> int:
        """Bytes of device memory that are free."""

    # -- kernels ------------------------------------------------------------------------------
    @abstractmethod
    def load(self, code: DeviceCode) -> Sequence[int]:
        """Handles of the kernels of a module, in the order of its names."""

    @abstractmethod
    def properties(self) -> DeviceProperties:
        """What the device is."""

    # -- streams and events -------------------------------------------------------------------
    @abstractmethod
    def synchronize(self, stream: int = 0) -> None:
        """Wait until everything issued to a stream is done (0: to the device)."""

    @abstractmethod
    def create_stream(self) -> int: ...

    @abstractmethod
    def destroy_stream(self, stream: int) -> None: ...

    @property
    def stream(self) -> int:
        """The stream that kernels are launched on."""
        return self.table.get("stream")

    @stream.setter
    def stream(self, stream: int) -> None:
        self.table.set("stream", stream)

    @abstractmethod
    def create_event(self) -> int: ...

    @abstractmethod
    def record_event(self, event: int, stream: int) -> None: ...

    @abstractmethod
    def wait_event(self, event: int) -> None: ...

    @abstractmethod
    def elapsed(self, start: int, end: int) -> float:
        """Milliseconds between two recorded events."""

    @abstractmethod
    def destroy_event(self, event: int) -> None: ...

    # -- graphs -------------------------------------------------------------------------------
    @abstractmethod
    def begin_capture(self) -> None:
        """From here on launches are recorded instead of run."""

    @abstractmethod
    def end_capture(self) -> Any:
        """What was recorded since `begin_capture`; None when nothing was."""

    @abstractmethod
    def replay(self, graph: Any) -> None:
        """Run what was recorded."""

    @abstractmethod
    def destroy_graph(self, graph: Any) -> None: ...

    # -- errors -------------------------------------------------------------------------------
    def keep_error(self, error: BaseException) -> None:
        """Raise an error through the FFI, and keep the exception for whoever made the call."""
        self._errors.last = error
        raise_in_thread(error)

    def take_error(self) -> BaseException | None:
        """The exception that the last call of this thread has kept."""
        error = getattr(self._errors, "last", None)
        self._errors.last = None
        return error


def raise_in_thread(error: BaseException) -> None:
    """Set the error of the running FFI call."""
    from relax_mlir.runtime.engine import ffi_library

    kind = type(error).__name__ if type(error).__module__ == "builtins" else "RuntimeError"
    library = ctypes.CDLL(ffi_library())
    library.TVMFFIErrorSetRaisedFromCStr.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.TVMFFIErrorSetRaisedFromCStr.restype = None
    library.TVMFFIErrorSetRaisedFromCStr(kind.encode(), str(error).encode())


_BACKENDS: dict[tuple[int, int], Backend] = {}
_LOCK = threading.Lock()


def is_gpu(device: Any) -> bool:
    """True for a device that kernels are launched on."""
    kind = getattr(device, "dlpack_device_type", None)
    return kind is not None and kind() in (CUDA, EMULATED)


def backend_of(device: Any) -> Backend:
    """The backend of a GPU.

    Raises RuntimeError that says why when the device cannot be used, as without a CUDA driver.
    """
    key = (int(device.dlpack_device_type()), int(device.index))
    with _LOCK:
        if key not in _BACKENDS:
            _BACKENDS[key] = _make(*key)
        return _BACKENDS[key]


def _make(device_type: int, index: int) -> Backend:
    if device_type == EMULATED:
        from relax_mlir.runtime.device_api.emulated import EmulatedBackend

        return EmulatedBackend(index)
    if device_type == CUDA:
        from relax_mlir.runtime.device_api.cuda import CudaBackend

        return CudaBackend(index)
    raise RuntimeError(f"there is no backend for devices of DLPack's type {device_type}")
