"""Machine code of the functions that host code shares (`ffi_support.py`), made as it is needed.

All engines of a process use one copy of each.  A program that only calls what works does not wait
for the functions that describe errors: those are made when the first error is raised.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from threading import RLock
from typing import Any

from relax_mlir.lowering.to_llvm.ffi_support import SUPPORT_SYMBOLS, support_module
from relax_mlir.mlir import scope
from relax_mlir.runtime.machine_code import MachineCode

__all__ = ["SupportCode", "support_code"]

_TYPES = {"!llvm.ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "i32": ctypes.c_int32}
# None of them returns a value.
_RAISE_ERRORS = ("relax_ffi_argument_error", "relax_ffi_count_error", "relax_ffi_size_error")


class SupportCode:
    """The support functions that were needed so far, which live as long as this object.

    `libraries` are the shared libraries that define what the functions call.
    """

    def __init__(self, libraries: Sequence[str]) -> None:
        self._libraries = libraries
        self._addresses: dict[str, int] = {}
        self._kept: list[Any] = []
        self._making = RLock()

    def addresses(self, names: Iterable[str]) -> dict[str, int]:
        """Where the functions of these names are, keys of SUPPORT_SYMBOLS."""
        with self._making:
            missing = [name for name in names if name not in self._addresses]
            for name in missing:
                if name in _RAISE_ERRORS:
                    self._addresses[name] = self._made_when_called(name)
            self._addresses |= self._make([n for n in missing if n not in _RAISE_ERRORS])
            return {name: self._addresses[name] for name in names}

    def _make(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        with scope():
            module = support_module(names, "external")
            code = MachineCode(module, opt_level=2, libraries=self._libraries)
        self._kept.append(code)
        return {name: code.address(name) for name in names}

    def _made_when_called(self, name: str) -> int:
        """The address of a function that has this one made, and calls it."""
        kind = ctypes.CFUNCTYPE(None, *_argument_types(name))

        @cache
        def function() -> Callable[..., None]:
            with self._making:
                return kind(self._make([name])[name])

        entry = kind(lambda *arguments: function()(*arguments))
        self._kept.append(entry)
        return ctypes.cast(entry, ctypes.c_void_p).value or 0


def _argument_types(name: str) -> list[Any]:
    return [_TYPES[kind] for kind in SUPPORT_SYMBOLS[name].strip("()").split(", ")]


@cache
def support_code(library: str) -> SupportCode:
    """The support functions of this process; `library` is the path of the TVM FFI's library."""
    return SupportCode((library,))
