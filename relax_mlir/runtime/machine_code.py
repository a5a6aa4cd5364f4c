"""Machine code of one module, through MLIR's C API.

MLIR's Python class for the same thing keeps the interpreter waiting while LLVM works; the C API, on
a module in a context of its own, lets other threads make machine code at the same time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.mlir import c_library, ir, pointer_to

__all__ = ["MachineCode"]


class _Handle(ctypes.Structure):
    _fields_ = (("pointer", ctypes.c_void_p),)


class _Text(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


# Of each function of the C API its result, and its arguments.
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Create": (
        _Handle,
        (_Handle, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_bool, ctypes.c_bool),
    ),
    "Destroy": (None, (_Handle,)),
    "Lookup": (ctypes.c_void_p, (_Handle, _Text)),
    "LookupPacked": (ctypes.c_void_p, (_Handle, _Text)),
    "RegisterSymbol": (None, (_Handle, _Text, ctypes.c_void_p)),
    "DumpToObjectFile": (None, (_Handle, _Text)),
}


@cache
def _function(name: str, holds_interpreter: bool) -> Any:
    function = getattr(c_library(holds_interpreter), f"mlirExecutionEngine{name}")
    function.restype, function.argtypes = _SIGNATURES[name]
    return function


def _text(text: str) -> _Text:
    data = text.encode()
    return _Text(data, len(data))


class MachineCode:
    """Machine code of `module`, an `ir.Module` of the llvm dialect, which is not kept.

    `opt_level` is LLVM's 0 to 3, `libraries` are paths of shared libraries that define what the
    module only declares.  Unless it is `alone` in its context, the interpreter waits while the
    module is translated.  Raises CompileError when the module does not translate.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        opt_level: int,
        libraries: Sequence[str] = (),
        position_independent: bool = False,
        alone: bool = False,
    ) -> None:
        self._handle = _Handle(None)
        self._destroy = _function("Destroy", False)
        paths = (_Text * len(libraries))(*map(_text, libraries))
        self._handle = _function("Create", not alone)(
            _Handle(pointer_to(module)),
            opt_level,
            len(libraries),
            ctypes.cast(paths, ctypes.c_void_p),
            True,  # so that `dump_object` can
            position_independent,
        )
        if not self._handle.pointer:
            raise CompileError("the module does not translate to machine code")

    def __del__(self) -> None:
        if self._handle.pointer:
            self._destroy(self._handle)

    def address(self, symbol: str) -> int:
        """Address of a function, 0 where there is none or the module does not link.

        The first call makes the machine code.
        """
        return _function("Lookup", False)(self._handle, _text(symbol)) or 0

    def packed_address(self, symbol: str) -> int:
        """Address of the form of a function that takes an array of pointers to its arguments."""
        return _function("LookupPacked", False)(self._handle, _text(symbol)) or 0

    def define(self, symbol: str, address: int) -> None:
        """Give an external symbol of the module an address; before the first lookup."""
        _function("RegisterSymbol", False)(self._handle, _text(symbol), address)

    def dump_object(self, path: str) -> None:
        """Write the machine code as an object file; some function must have been looked up."""
        _function("DumpToObjectFile", False)(self._handle, _text(path))
