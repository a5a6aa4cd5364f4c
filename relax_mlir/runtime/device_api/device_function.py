"""Functions compiled for a GPU: they run on the device that their tensors are on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from relax_mlir.runtime.device import Device
from relax_mlir.runtime.device_api.backend import backend_of, is_gpu
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.tensor import tensor

__all__ = ["DeviceFunction", "default_gpu"]


class OnDevices(Protocol):
    """Code whose functions can be had for a device: compiled here, or loaded from a library."""

    def function_on(self, name: str, device: Any) -> Any:
        """The function of that name, bound to a device."""
        ...


def default_gpu() -> Device:
    """The first NVIDIA GPU of the machine, the emulated one where there is none."""
    real = Device("cuda", 0)
    return real if real.exist else Device("cuda-emu", 0)


class DeviceFunction:
    """A compiled function, on `device` or (None) where the first tensor that it is given is.

    Exceptions of a launch, an `EmulatorError` for instance, come out as they were raised.
    """

    __slots__ = ("__name__", "_code", "_device")

    def __init__(self, code: OnDevices, name: str, device: Device | None = None) -> None:
        self.__name__ = name
        self._code = code
        self._device = device

    def on(self, device: Device) -> DeviceFunction:
        """The function on one device; numpy arrays that it is given are copied there."""
        return DeviceFunction(self._code, self.__name__, device)

    def __call__(self, *args: Any) -> Any:
        device = self._device or next(_devices(args), None) or default_gpu()
        if self._device is not None:
            args = tuple(_on_device(arg, device) for arg in args)
        backend = backend_of(device)
        try:
            return self._code.function_on(self.__name__, device)(*args)
        except Exception:
            error = backend.take_error()
            if error is None:
                raise
            raise error from None

    def __repr__(self) -> str:
        where = "the device of its tensors" if self._device is None else str(self._device)
        return f"<function {self.__name__} on {where}>"


def _devices(args: Iterable[Any]) -> Iterator[Device]:
    """The GPUs of the tensors among arguments."""
    for arg in args:
        if isinstance(arg, (list, tuple, tvm_ffi.Array)):
            yield from _devices(arg)
        elif isinstance(arg, tvm_ffi.core.Tensor):
            if is_gpu(arg.device):
                yield arg.device
        elif type(arg).__module__.partition(".")[0] in ("torch", "cupy"):
            kind = _foreign_device(arg)
            if kind is not None:
                yield kind


def _foreign_device(arg: Any) -> Device | None:
    """The GPU of another library's array."""
    if not hasattr(arg, "__dlpack_device__"):
        return None
    kind, index = arg.__dlpack_device__()
    device = Device(int(kind), int(index))
    return device if is_gpu(device) else None


def _on_device(arg: Any, device: Device) -> Any:
    if isinstance(arg, (np.ndarray, np.generic)):
        return tensor(arg, device)
    if isinstance(arg, (list, tuple)):
        items: Sequence[Any] = [_on_device(item, device) for item in arg]
        return type(arg)(items)
    return arg
