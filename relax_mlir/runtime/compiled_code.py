"""A compiled module before and after it is machine code.

`Code` is what functions come from.  `CompiledCode` holds the module in the llvm dialect, its
constants and what is known of its functions.  It is turned into machine code when the first
function is asked for, or into a shared library by `export_library`.
"""

from __future__ import annotations

import ctypes
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.cores import compile_threads
from relax_mlir.errors import Error
from relax_mlir.lowering.tir_to_gpu.host_device import SET_DEVICE
from relax_mlir.runtime.constant_memory import constant_tensors
from relax_mlir.runtime.tensor import Tensor, tensor

if TYPE_CHECKING:
    from relax_mlir.runtime.device_code import DeviceCode
    from relax_mlir.runtime.engine import Engine

__all__ = [
    "Code",
    "CompiledCode",
    "FunctionInfo",
    "entry_of",
    "functions_text",
    "read_functions",
]


@dataclass(frozen=True)
class FunctionInfo:
    """An exported function: its name, "tir" or "relax", and the names of its parameters."""

    name: str
    kind: str
    parameters: tuple[str, ...]


def functions_text(functions: Mapping[str, FunctionInfo]) -> str:
    """What is known of functions, as a library carries it."""
    return json.dumps([[f.name, f.kind, f.parameters] for f in functions.values()])


def read_functions(text: str) -> dict[str, FunctionInfo]:
    """The functions that `functions_text` wrote down."""
    found = [FunctionInfo(name, kind, tuple(rest)) for name, kind, rest in json.loads(text)]
    return {info.name: info for info in found}


def entry_of(functions: Mapping[str, FunctionInfo]) -> str:
    """The function that calling a module calls: `main`, or the only one.

    Raises Error when there is no such function.
    """
    if "main" in functions:
        return "main"
    if len(functions) == 1:
        return next(iter(functions))
    names = ", ".join(functions) or "none"
    raise Error(f"the module has no entry function: none is called 'main'; it has {names}")


@dataclass(kw_only=True)
class Code(ABC):
    """Exported functions by name, and the constants they read, in the order of their table.

    `device_code` holds the kernels of a module that was compiled for a GPU.  `profiled` compiles
    the same program so that it tells how long each call takes.
    """

    functions: Mapping[str, FunctionInfo]
    constants: Sequence[np.ndarray] = ()
    device_code: DeviceCode | None = None
    profiled: Callable[[], CompiledCode] | None = None
    _cache: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @abstractmethod
    def compiled(self) -> CompiledCode:
        """This code with its module."""

    @abstractmethod
    def _make_function(self, name: str) -> Any:
        """The function that `function` gives from then on."""

    def _require(self, name: str) -> None:
        if name not in self.functions:
            names = ", ".join(self.functions) or "none"
            raise AttributeError(f"the module has no function '{name}'; it has {names}")

    def function(self, name: str) -> Any:
        """The exported function of that name, as a `tvm_ffi.Function`; of a module compiled for a
        GPU, a `DeviceFunction`.

        Raises AttributeError when there is none.
        """
        found = self._cache.get(name)
        if found is None:
            self._require(name)
            with self._lock:
                if name not in self._cache:
                    self._cache[name] = self._make_function(name)
            found = self._cache[name]
        return found

    def entry_name(self) -> str:
        """The function that calling the module calls."""
        return entry_of(self.functions)

    def text(self) -> str:
        """The module as MLIR text."""
        with mlir.scope():
            return str(self.compiled().module)


@dataclass(kw_only=True)
class CompiledCode(Code):
    """Code of a `module` in the llvm dialect.

    `constant_keys` are the names of the constants in the module's table.  `on_engine` is called
    once with the engine, when there is machine code.
    """

    module: Any
    opt_level: int = 2
    constant_keys: Sequence[str] = ()
    on_engine: Callable[[Engine], None] | None = None

    def compiled(self) -> CompiledCode:
        return self

    def _make_function(self, name: str) -> Any:
        if self.device_code is None:
            return self._engine().function(name)
        from relax_mlir.runtime.device_api.device_function import DeviceFunction

        return DeviceFunction(self, name)

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The constants as tensors; they live as long as the code."""
        return constant_tensors(self.constants)

    def _make_engine(self) -> Engine:
        from relax_mlir.runtime.engine import Engine

        with mlir.scope():
            return Engine(
                self.module,
                opt_level=self.opt_level,
                position_independent=self.on_engine is not None,
                threads=compile_threads(),
            )

    def _engine(self) -> Engine:
        if "" not in self._cache:
            engine = self._make_engine()
            if self.tensors:
                engine.keep(self.tensors)
                engine.function(SET_CONSTANTS)(*self.tensors)
            if self.on_engine is not None:
                self.on_engine(engine)
            self._cache[""] = engine
        return self._cache[""]

    def _device_engine(self, device: Any) -> Engine:
        """Machine code of the host, bound to a device: its kernels are loaded there, and the
        constants."""
        key = f"@{device}"
        if key not in self._cache:
            from relax_mlir.runtime.device_api.backend import backend_of

            assert self.device_code is not None
            backend, engine = backend_of(device), self._make_engine()
            handles = backend.load(self.device_code)
            array = (ctypes.c_void_p * max(1, len(handles)))(*handles)
            engine.keep(array)
            engine.function(SET_DEVICE)(backend.table.address, ctypes.addressof(array))
            tensors = [tensor(array, device) for array in self.constants]
            if tensors:
                engine.keep(tensors)
                engine.function(SET_CONSTANTS)(*tensors)
            self._cache[key] = engine
        return self._cache[key]

    def function_on(self, name: str, device: Any) -> Any:
        """The function of a module compiled for a GPU, bound to one."""
        key = f"{name}@{device}"
        found = self._cache.get(key)
        if found is None:
            self._require(name)
            with self._lock:
                if key not in self._cache:
                    self._cache[key] = self._device_engine(device).function(name)
            found = self._cache[key]
        return found


SET_CONSTANTS = "__relax_set_constants"
FUNCTIONS = "__relax_functions"
"""The function of a library that tells which others it has."""
