"""NVIDIA GPUs: memory, modules, streams and graphs through the CUDA driver.

The primary context of a device is used, so that tensors are shared with PyTorch and CuPy; memory
comes from the device's default pool, in the order of the current stream.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.device_api.backend import CUDA, Backend, DeviceProperties
from relax_mlir.runtime.device_api.driver import CudaDriver, cuda_driver

if TYPE_CHECKING:
    from relax_mlir.runtime.device_code import DeviceCode

__all__ = ["CudaBackend"]

# CUdevice_attribute
_ATTRIBUTES = {
    "max_threads_per_block": 1, "block_x": 2, "block_y": 3, "block_z": 4,
    "max_shared_memory_per_block": 8, "warp_size": 10, "max_registers_per_block": 12,
    "max_clock_rate": 13, "multi_processor_count": 16, "l2_cache_size_bytes": 38, "major": 75,
    "minor": 76,
}  # fmt: skip
_RELEASE_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated meanwhile
_ERROR_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_WITHHOLD_TYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class CudaBackend(Backend):
    """The device "cuda" of a number.

    Raises RuntimeError when this machine has no driver or not so many devices.
    """

    def __init__(self, index: int, driver: CudaDriver | None = None) -> None:
        self.driver = driver or cuda_driver()
        count = self.driver.get("cuDeviceGetCount", kind=ctypes.c_int32)
        if not 0 <= index < count:
            raise RuntimeError(f"there is no CUDA device {index}: the machine has {count}")
        super().__init__(CUDA, index)
        self._device = self.driver.get("cuDeviceGet", index, kind=ctypes.c_int32)
        self._context = self.driver.get("cuDevicePrimaryCtxRetain", self._device)
        self._enter()
        # Keep what is freed, for the next call.
        pool = self.driver.get("cuDeviceGetDefaultMemPool", self._device)
        threshold = ctypes.c_uint64(2**64 - 1)
        self.driver.call(
            "cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.addressof(threshold)
        )
        self._withheld: list[int] = []
        self._capture_stream = 0
        self._callbacks = (_ERROR_TYPE(self._failed), _WITHHOLD_TYPE(self._withhold))
        self._fill_table()

    def _fill_table(self) -> None:
        from relax_mlir.runtime.device_api.cuda_calls import cuda_calls

        callbacks = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._callbacks]
        self._engine, addresses = cuda_calls(self.driver, self.table, self._context, *callbacks)
        # Tensors keep addresses of this code, and may be given up after everything else.
        for kept in (self._engine, *self._callbacks):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        for word, address in addresses.items():
            self.table.set(word, address)

    def _enter(self) -> None:
        self.driver.call("cuCtxSetCurrent", self._context)

    def _failed(self, status: int, function: int) -> int:
        from relax_mlir.runtime.device_api.cuda_calls import driver_function

        self.keep_error(self.driver.error(driver_function(function), status))
        return 0

    def _withhold(self, address: int) -> int:
        self._withheld.append(address)
        return 0

    # -- memory -------------------------------------------------------------------------------
    def allocate(self, size: int) -> int:
        self._enter()
        if self._capture_stream:
            return self.driver.get("cuMemAlloc_v2", max(1, size), kind=ctypes.c_uint64)
        stream = self.stream
        return self.driver.get("cuMemAllocAsync", max(1, size), stream, kind=ctypes.c_uint64)

    def free(self, address: int) -> None:
        self._enter()
        if self._capture_stream:
            self._withheld.append(address)
        else:
            self.driver.call("cuMemFreeAsync", address, self.stream)

    def to_device(self, target: int, source: int, size: int) -> None:
        self._enter()
        self.driver.call("cuMemcpyHtoDAsync_v2", target, source, size, self.stream)
        self.driver.call("cuStreamSynchronize", self.stream)

    def to_host(self, target: int, source: int, size: int) -> None:
        self._enter()
        # What made the data may have run on a stream of the caller's framework.
        self.driver.call("cuCtxSynchronize")
        self.driver.call("cuMemcpyDtoHAsync_v2", target, source, size, self.stream)
        self.driver.call("cuStreamSynchronize", self.stream)

    def copy(self, target: int, source: int, size: int) -> None:
        self._enter()
        self.driver.call("cuMemcpyDtoDAsync_v2", target, source, size, self.stream)

    def available_memory(self) -> int:
        self._enter()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver.call("cuMemGetInfo_v2", ctypes.addressof(free), ctypes.addressof(total))
        return free.value

    # -- kernels ------------------------------------------------------------------------------
    def load(self, code: DeviceCode) -> Sequence[int]:
        self._enter()
        module = self.driver.load_module(code.ptx())
        get = self.driver.get
        return [get("cuModuleGetFunction", module, name.encode()) for name in code.names]

    def properties(self) -> DeviceProperties:
        return self._properties

    @cached_property
    def _properties(self) -> DeviceProperties:
        values = {
            name: self.driver.get("cuDeviceGetAttribute", number, self._device, kind=ctypes.c_int32)
            for name, number in _ATTRIBUTES.items()
        }
        name = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", name, len(name), self._device)
        total = self.driver.get("cuDeviceTotalMem_v2", self._device, kind=ctypes.c_size_t)
        major, minor = values.pop("major"), values.pop("minor")
        x, y, z = (values.pop(f"block_{axis}") for axis in "xyz")
        return DeviceProperties(
            name=name.value.decode(), compute_version=f"{major}.{minor}",
            max_thread_dimensions=(x, y, z), total_global_memory=total, **values,
        )  # fmt: skip

    # -- streams and events -------------------------------------------------------------------
    def synchronize(self, stream: int = 0) -> None:
        self._enter()
        if stream:
            self.driver.call("cuStreamSynchronize", stream)
        else:
            self.driver.call("cuCtxSynchronize")

    def create_stream(self) -> int:
        self._enter()
        return self.driver.get("cuStreamCreate", 0)

    def destroy_stream(self, stream: int) -> None:
        self._enter()
        self.driver.call("cuStreamDestroy_v2", stream)

    def create_event(self) -> int:
        self._enter()
        return self.driver.get("cuEventCreate", 0)

    def record_event(self, event: int, stream: int) -> None:
        self._enter()
        self.driver.call("cuEventRecord", event, stream)

    def wait_event(self, event: int) -> None:
        self._enter()
        self.driver.call("cuEventSynchronize", event)

    def elapsed(self, start: int, end: int) -> float:
        self._enter()
        return self.driver.get("cuEventElapsedTime", start, end, kind=ctypes.c_float)

    def destroy_event(self, event: int) -> None:
        self._enter()
        self.driver.call("cuEventDestroy_v2", event)

    # -- graphs -------------------------------------------------------------------------------
    def begin_capture(self) -> None:
        """The default stream cannot be captured: a stream of its own is current meanwhile."""
        self._enter()
        self.driver.call("cuCtxSynchronize")
        self._outer_stream, self._capture_stream = self.stream, self.create_stream()
        self._withheld = []
        self.driver.call("cuStreamBeginCapture_v2", self._capture_stream, _RELAXED)
        self.stream = self._capture_stream
        self.table.set("capturing", 1)

    def end_capture(self) -> Any:
        self._enter()
        self.table.set("capturing", 0)
        self.stream, stream = self._outer_stream, self._capture_stream
        self._capture_stream = 0
        graph = ctypes.c_void_p()
        self.driver.call("cuStreamEndCapture", stream, ctypes.addressof(graph))
        self.destroy_stream(stream)
        if not graph.value:
            return None
        try:
            executable = self.driver.get("cuGraphInstantiateWithFlags", graph.value, 0)
        finally:
            self.driver.call("cuGraphDestroy", graph.value)
        return executable, self._withheld

    def replay(self, graph: Any) -> None:
        self._enter()
        self.driver.call("cuGraphLaunch", graph[0], self.stream)

    def destroy_graph(self, graph: Any) -> None:
        self._enter()
        self.driver.call("cuGraphExecDestroy", graph[0])
        for address in graph[1]:
            self.driver.call("cuMemFree_v2", address)
