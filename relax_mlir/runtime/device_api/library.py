"""Libraries compiled for a GPU: kernels travel as text, PTX for CUDA and MLIR for the emulator.

A library that is loaded runs on one device at a time: a call with tensors on another one loads its
kernels and constants there first.
"""

from __future__ import annotations

import ctypes
import json
import threading
from typing import Any

from relax_mlir import mlir
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.relax_to_host.relax_to_host import SET_CONSTANTS
from relax_mlir.lowering.tir_to_gpu.host_device import SET_DEVICE
from relax_mlir.lowering.to_llvm.ffi_device_code import CONSTANT, DEVICE_CODE
from relax_mlir.mlir import ir
from relax_mlir.runtime.device_api.backend import backend_of
from relax_mlir.runtime.device_code import DeviceCode
from relax_mlir.runtime.tensor import tensor
from relax_mlir.target import Target

__all__ = ["DeviceLibrary", "device_code_text"]


def device_code_text(code: DeviceCode, constants: int) -> str:
    """The kernels of a module as a library carries them.

    Raises CompileError when llvmlite, which makes PTX, is missing.
    """
    with mlir.scope():
        text = code.state.module.operation.get_asm(enable_debug_info=True)
    return json.dumps({
        "names": list(code.names), "target": code.target.export(), "constants": constants,
        "mlir": text, "ptx": code.ptx(),
    })  # fmt: skip


class DeviceLibrary:
    """The functions of a library with kernels, on whatever device they are called for."""

    def __init__(self, library: Any, text: str) -> None:
        self._library = library
        words = json.loads(text)
        self.code = _LoadedCode(words)
        self._constants = [
            library.get_function(CONSTANT)(number) for number in range(words["constants"])
        ]
        self._bound: Any = None
        self._kept: dict[Any, Any] = {}
        self._lock = threading.Lock()

    @classmethod
    def of(cls, library: Any) -> DeviceLibrary | None:
        """The kernels of a library, None when it was not compiled for a GPU."""
        try:
            reader = library.get_function(DEVICE_CODE)
        except (AttributeError, RuntimeError, ValueError):
            return None
        return cls(library, str(reader()))

    def function_on(self, name: str, device: Any) -> Any:
        """A function of the library, which is bound to the device first."""
        found = self._library.get_function(name)
        with self._lock:
            if self._bound != device:
                self._bind(device)
        return found

    def _bind(self, device: Any) -> None:
        if device not in self._kept:
            backend = backend_of(device)
            handles = backend.load(self.code)
            array = (ctypes.c_void_p * max(1, len(handles)))(*handles)
            constants = [tensor(constant, device) for constant in self._constants]
            self._kept[device] = (backend.table.address, array, constants)
        table, array, constants = self._kept[device]
        self._library.get_function(SET_DEVICE)(table, ctypes.addressof(array))
        if constants:
            self._library.get_function(SET_CONSTANTS)(*constants)
        self._bound = device


class _LoadedCode(DeviceCode):
    """Kernels read from a library."""

    def __init__(self, words: dict[str, Any]) -> None:
        with mlir.scope():
            state = ModuleState(ir.Module.parse(words["mlir"]))
        super().__init__(state, words["names"], Target(words["target"]))
        self._ptx = words["ptx"]

    def ptx(self, arch: str | None = None) -> str:
        """The PTX that the library carries; for another architecture it is made anew."""
        return self._ptx if arch in (None, self.arch) else super().ptx(arch)
