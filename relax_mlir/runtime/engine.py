"""The engine: a module in the llvm dialect becomes callable functions of the TVM FFI.

Everything that knows how machine code is made just in time is behind `Engine`; the rest of the
runtime sees `Engine.function(name)` and `Engine.dump_objects(path)`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import metadata
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.lowering.to_llvm.ffi_support import SUPPORT_SYMBOLS
from relax_mlir.mlir import ir
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.machine_code import MachineCode
from relax_mlir.runtime.split_module import Part, Survey, divide, survey
from relax_mlir.runtime.support_code import support_code

__all__ = [
    "FFI_PREFIX", "Engine", "ffi_library", "makes_closures", "openmp_library", "uses_openmp",
]  # fmt: skip

# Exported symbols of the TVM FFI's C ABI start with this.
FFI_PREFIX = "__tvm_ffi_"
# The support function that makes functions of compiled code.
MAKES_CLOSURES = "relax_ffi_make_closure"
# Operations that are no llvm dialect and translate; they call the OpenMP runtime.
_OPENMP = "omp."


@cache
def ffi_library() -> str:
    """Path of libtvm_ffi, which every compiled module calls for errors and objects."""
    return str(tvm_ffi.libinfo.find_libtvm_ffi())


@cache
def openmp_library() -> str:
    """Path of LLVM's OpenMP runtime: the one that the process has loaded already (two of them in a
    process refuse each other), else that of the `cmeel-libomp` wheel.

    Raises CompileError naming the package when it is not installed.
    """
    loaded = _loaded_openmp()
    if loaded is not None:
        return loaded
    try:
        files = metadata.files("cmeel-libomp") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "libomp" and file.suffix in (".so", ".dylib", ".dll"):
            return str(file.locate())
    raise CompileError(
        "the module runs loops in parallel, which needs LLVM's OpenMP runtime",
        hint="pip install cmeel-libomp",
    )


def _loaded_openmp() -> str | None:
    """The library of LLVM's (or Intel's) OpenMP runtime that is mapped into this process."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "omp" in line}
    except OSError:
        return None
    names = ("libomp.so", "libomp5.so", "libiomp5.so")
    found = [p for p in paths if os.path.basename(p) in names and os.path.exists(p)]
    return min(found, default=None)


class Engine:
    """Machine code of one module, made when the engine is.

    `module` is an `ir.Module` in the llvm dialect; it is not kept.  `opt_level` is LLVM's 0 to 3.
    With several `threads` the kernels of a large module become machine code at the same time.
    Raises CompileError when the module does not translate.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        opt_level: int = 2,
        shared_libs: Sequence[str] = (),
        share_support: bool = True,
        position_independent: bool = False,
        threads: int = 1,
    ) -> None:
        found = survey(module)
        _refuse_untranslatable(found.operations)
        self._kept: list[Any] = []
        libraries = [ffi_library(), *shared_libs]
        if any(name.startswith(_OPENMP) for name in found.operations):
            libraries.append(openmp_library())
        make = partial(
            MachineCode,
            opt_level=opt_level,
            libraries=libraries,
            position_independent=position_independent,
        )
        support = self._support(found) if share_support else {}
        divided = divide(module, found, threads) if threads > 1 else None
        self._kernels: list[MachineCode] = []
        if divided is None:
            self._host = make(module)
        else:
            host, kernels = divided
            symbols: dict[str, int] = {}
            with ThreadPoolExecutor(len(kernels)) as pool:
                made = pool.map(lambda part: _machine_code(part, make, support), kernels)
                self._host = make(host.module, alone=True)
                for code, addresses in made:
                    self._kernels.append(code)
                    symbols |= addresses
            _define(self._host, symbols)
        _define(self._host, support)

    def _support(self, found: Survey) -> dict[str, int]:
        """Addresses of the support functions that the module calls and does not define."""
        called = found.referenced()
        wanted = [
            name
            for name in SUPPORT_SYMBOLS
            if name in found.definitions and found.sizes[name] == 1 and name in called
        ]
        if not wanted:
            return {}
        support = support_code(ffi_library())
        self.keep(support)
        if MAKES_CLOSURES in wanted:
            _keep_forever(self)
            _keep_forever(support)
        return support.addresses(wanted)

    def address(self, symbol: str) -> int:
        """Address of the packed entry of an exported symbol.

        Raises KeyError when the module does not define the symbol or leaves something unresolved.
        """
        found = self._host.packed_address(symbol)
        if not found:
            raise KeyError(f"the compiled module has no symbol {symbol!r}, or it does not link")
        return found

    def function(self, name: str) -> Any:
        """The exported function as a `tvm_ffi.Function`, which keeps this engine alive."""
        return tvm_ffi.Function.__from_mlir_packed_safe_call__(
            self.address(FFI_PREFIX + name), keep_alive_object=self
        )

    def keep(self, value: Any) -> None:
        """Keep something alive for as long as the machine code is."""
        self._kept.append(value)

    def define(self, symbol: str, address: int) -> None:
        """Give an external symbol of the module an address; before the first lookup."""
        self._host.define(symbol, address)

    def dump_objects(self, path: str) -> list[str]:
        """Write the machine code as object files, the first of them `path`; returns their paths.

        Some function must have been looked up.
        """
        self._host.dump_object(path)
        paths = [path]
        for number, code in enumerate(self._kernels):
            paths.append(f"{path}.{number}.o")
            code.dump_object(paths[-1])
        return paths


def _machine_code(
    part: Part, make: Callable[..., MachineCode], support: Mapping[str, int]
) -> tuple[MachineCode, dict[str, int]]:
    """Machine code of a part with kernels, and where they are."""
    code = make(part.module, alone=True)
    _define(code, support)
    addresses = {symbol: code.address(symbol) for symbol in part.symbols}
    missing = [symbol for symbol, address in addresses.items() if not address]
    if missing:
        raise CompileError(f"machine code of {missing[0]} does not link")
    return code, addresses


def _define(code: MachineCode, symbols: Mapping[str, int]) -> None:
    for symbol, address in symbols.items():
        code.define(symbol, address)


def _keep_forever(value: Any) -> None:
    """Never free `value`: a function that compiled code made may be the last thing a program
    drops, even after Python has cleared its modules."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def makes_closures(module: Any) -> bool:
    """True when functions that a module in the llvm dialect makes may outlive a call."""
    return any(
        op.operation.name == "llvm.func"
        and ir.StringAttr(op.attributes["sym_name"]).value == MAKES_CLOSURES
        for op in module.body.operations
    )


def uses_openmp(module: ir.Module) -> bool:
    """True when a module in the llvm dialect runs loops on the OpenMP runtime."""
    return any(name.startswith(_OPENMP) for name in survey(module).operations)


def _refuse_untranslatable(names: Iterable[str]) -> None:
    """Refuse what is not llvm dialect: translating it would end the process."""
    known = ("llvm.", _OPENMP, "builtin.module")
    strays = sorted(name for name in names if not name.startswith(known))
    if strays:
        raise CompileError(f"operations without a lowering to LLVM are left: {', '.join(strays)}")
