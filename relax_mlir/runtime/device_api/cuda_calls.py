"""What compiled host code calls on an NVIDIA GPU: machine code that calls the driver.

A launch passes through no Python.  Addresses that stay the same for the life of the process (the
context, the table) are constants of the code.
"""

from __future__ import annotations

from relax_mlir import mlir
from relax_mlir.lowering.gpu_to_emulator.native import Function, Int, NativeModule
from relax_mlir.runtime.device_api.driver import CudaDriver
from relax_mlir.runtime.device_api.table import DeviceTable
from relax_mlir.runtime.emulator.addresses import add_address_function, read_addresses
from relax_mlir.runtime.engine import Engine

__all__ = ["cuda_calls"]

# Functions of the driver and how many arguments they have.
_DRIVER = {
    "cuCtxSetCurrent": 1, "cuLaunchKernel": 11, "cuFuncSetAttribute": 3, "cuMemAllocAsync": 3,
    "cuMemFreeAsync": 2, "cuMemAlloc_v2": 2, "cuMemcpyDtoHAsync_v2": 4, "cuMemcpyHtoDAsync_v2": 4,
    "cuMemcpyDtoDAsync_v2": 4, "cuStreamSynchronize": 1,
}  # fmt: skip
_ERROR = "relax_cuda_error"
_WITHHOLD = "relax_cuda_withhold"
_STREAM = "relax_cuda_stream"
# Of libtvm_ffi: the stream that the caller's framework works on, set for the time of a call.
_ENVIRONMENT = "TVMFFIEnvGetStream"
_NAMES = ("launch", "alloc", "free", "delete", "to_host", "to_device", "copy")
_STATIC_SHARED_BYTES = 48 * 1024
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
# Byte offset of the data in a DLManagedTensorVersioned.
_DATA = 32


def cuda_calls(
    driver: CudaDriver, table: DeviceTable, context: int, error: int, withhold: int
) -> tuple[Engine, dict[str, int]]:
    """Machine code for the words of a device's table, and the addresses by word.

    `error(status, number of the driver's function)` keeps an error, `withhold(address)` takes
    memory that is freed while a graph is captured; both are addresses.
    """
    with mlir.scope():
        declared = [(name, count, True) for name, count in _DRIVER.items()]
        native = NativeModule([*declared, (_ERROR, 2, True), (_WITHHOLD, 1, True),
                               ("free", 1, False), (_ENVIRONMENT, 2, True)])  # fmt: skip
        calls = _Calls(native, table, context)
        calls.write()
        module = native.lower()
        names = [f"relax_cuda_{name}" for name in _NAMES]
        add_address_function(module, names)
        engine = Engine(module, share_support=False, opt_level=1)
    for name in _DRIVER:
        engine.define(name, driver.address(name))
    engine.define(_ERROR, error)
    engine.define(_WITHHOLD, withhold)
    found = read_addresses(engine, names)
    return engine, {name: found[f"relax_cuda_{name}"] for name in _NAMES}


class _Calls:
    def __init__(self, native: NativeModule, table: DeviceTable, context: int) -> None:
        self.native = native
        self.stream = table.word_address("stream")
        self.capturing = table.word_address("capturing")
        self.context = context
        self.device = table.get("device")

    def write(self) -> None:
        self._write_stream()
        self._write_launch()
        self._write_memory()
        self._write_copies()

    def _call(self, f: Function, name: str, *arguments: Int | int) -> None:
        """Call the driver; leave with -1 when it fails."""
        status = f.call(name, *arguments) & 0xFFFFFFFF
        with f.when(status.is_not(0)):
            f.call(_ERROR, status, list(_DRIVER).index(name))
            f.ret(-1)

    def _write_stream(self) -> None:
        """The stream of the table, else the one of the FFI's environment."""
        kind, index = self.device & 0xFFFFFFFF, self.device >> 32
        with self.native.function(_STREAM, 0) as f:
            stream = f.load(self.stream)
            with f.when(stream.is_not(0)):
                f.ret(stream)
            f.ret(f.call(_ENVIRONMENT, kind, index))

    def _write_launch(self) -> None:
        with self.native.function("relax_cuda_launch", 10) as f:
            kernel, *sizes, shared, stream, args = f.arguments
            for blocks in sizes[:3]:  # tensors without elements: the driver refuses empty grids
                with f.when(blocks.is_(0)):
                    f.ret(0)
            self._call(f, "cuCtxSetCurrent", self.context)
            with f.when(shared > _STATIC_SHARED_BYTES):
                self._call(f, "cuFuncSetAttribute", kernel, _MAX_DYNAMIC_SHARED, shared)
            chosen = f.var(stream)
            with f.when(stream.is_(0)):
                chosen.set(f.call(_STREAM))
            self._call(f, "cuLaunchKernel", kernel, *sizes, shared, chosen.get(), args, 0)
            f.ret(0)

    def _write_memory(self) -> None:
        with self.native.function("relax_cuda_alloc", 1) as f:
            (size,) = f.arguments
            f.call("cuCtxSetCurrent", self.context)
            at_least, made, status = f.var(size), f.var(0), f.var(0)
            with f.when(size.is_(0)):
                at_least.set(1)
            capturing = f.load(self.capturing)
            with f.when(capturing.is_(0)):
                stream = f.call(_STREAM)
                status.set(f.call("cuMemAllocAsync", made.address(), at_least.get(), stream))
            with f.when(capturing.is_not(0)):
                status.set(f.call("cuMemAlloc_v2", made.address(), at_least.get()))
            failed = status.get() & 0xFFFFFFFF
            with f.when(failed.is_not(0)):
                f.call(_ERROR, failed, list(_DRIVER).index("cuMemAllocAsync"))
                f.ret(0)
            f.ret(made.get())
        with self.native.function("relax_cuda_free", 1) as f:
            (address,) = f.arguments
            with f.when(f.load(self.capturing).is_not(0)):
                f.call(_WITHHOLD, address)
                f.ret(0)
            # At the end of the process the driver may be gone: there is nobody to tell.
            f.call("cuCtxSetCurrent", self.context)
            f.call("cuMemFreeAsync", address, f.call(_STREAM))
        with self.native.function("relax_cuda_delete", 1) as f:
            (managed,) = f.arguments
            data = f.load(managed + _DATA)
            with f.when(data.is_not(0)):
                f.call("relax_cuda_free", data)
            f.call("free", managed, result=False)

    def _write_copies(self) -> None:
        with self.native.function("relax_cuda_to_host", 3) as f:
            target, source, size = f.arguments
            stream = f.call(_STREAM)
            self._call(f, "cuCtxSetCurrent", self.context)
            self._call(f, "cuMemcpyDtoHAsync_v2", target, source, size, stream)
            self._call(f, "cuStreamSynchronize", stream)
            f.ret(0)
        with self.native.function("relax_cuda_copy", 3) as f:
            target, source, size = f.arguments
            self._call(f, "cuCtxSetCurrent", self.context)
            self._call(f, "cuMemcpyDtoDAsync_v2", target, source, size, f.call(_STREAM))
            f.ret(0)
        with self.native.function("relax_cuda_to_device", 3) as f:
            target, source, size = f.arguments
            stream = f.call(_STREAM)
            self._call(f, "cuCtxSetCurrent", self.context)
            self._call(f, "cuMemcpyHtoDAsync_v2", target, source, size, stream)
            self._call(f, "cuStreamSynchronize", stream)
            f.ret(0)


def driver_function(number: int) -> str:
    """The name of a driver's function by the number that errors are reported with."""
    return list(_DRIVER)[number]
