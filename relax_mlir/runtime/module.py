"""Runtime modules: functions by name, in machine code made here or loaded from a library."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.runtime.benchmark import BenchmarkResult, time_function
from relax_mlir.runtime.compiled_code import (
    FUNCTIONS,
    SET_CONSTANTS,
    Code,
    FunctionInfo,
    entry_of,
    read_functions,
)
from relax_mlir.runtime.device import require_present
from relax_mlir.runtime.device_module import DeviceModule
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.registry import get_global_func

__all__ = ["Module", "load_module", "system_lib"]


class _Library:
    """The functions of a shared library, through tvm_ffi."""

    def __init__(self, path: str) -> None:
        self.library = tvm_ffi.load_module(path)
        self.functions = self._read_functions()
        # It knows MLIR, which a library for the CPU does without.
        from relax_mlir.runtime.device_api.library import DeviceLibrary

        self.device_library = DeviceLibrary.of(self.library)
        self.constants = self._load_constants(path)

    def _load_constants(self, path: str) -> list[Any]:
        """The constants from the file beside the library, if there is one; the library gets them.

        Raises ValueError when the file does not have what the library needs.
        """
        from relax_mlir.runtime.export import constant_name, constants_path
        from relax_mlir.runtime.params import load_param_dict_from_file

        file = constants_path(path)
        if not os.path.exists(file):
            return []
        found = load_param_dict_from_file(file)
        names = [constant_name(index) for index in range(len(found))]
        if sorted(names) != sorted(found):
            raise ValueError(f"load_module: {file} does not hold the constants of the library")
        tensors = [found[name] for name in names]
        self.library.get_function(SET_CONSTANTS)(*tensors)
        return tensors

    def _read_functions(self) -> dict[str, FunctionInfo]:
        """What the library says of its functions; nothing where others made it."""
        try:
            reader = self.library.get_function(FUNCTIONS)
        except (AttributeError, RuntimeError, ValueError):
            return {}
        return read_functions(str(reader()))

    def function(self, name: str) -> Any:
        if self.device_library is None:
            return self.library.get_function(name)
        from relax_mlir.runtime.device_api.device_function import DeviceFunction

        return DeviceFunction(self.device_library, name)

    def entry_name(self) -> str:
        return entry_of(self.functions) if self.functions else "main"


class Module:
    """Functions by name: `mod["f"]`, `mod.f`, and `mod(...)` for the entry function."""

    def __init__(self, code: Code | _Library) -> None:
        self._code = code
        self.imports: list[Module | DeviceModule] = []
        if isinstance(code, Code) and code.device_code is not None:
            self.imports.append(DeviceModule(code.device_code))
        elif isinstance(code, _Library) and code.device_library is not None:
            self.imports.append(DeviceModule(code.device_library.code))

    @property
    def entry_name(self) -> str:
        """The name of the function that calling the module calls."""
        return self._code.entry_name()

    @property
    def entry_func(self) -> Any:
        return self.get_function(self.entry_name)

    @property
    def code(self) -> Code | _Library:
        """What the functions come from: compiled code, or a library."""
        return self._code

    @property
    def runs_on_gpu(self) -> bool | None:
        """Whether the module was compiled for a GPU; None when that is not known (a library)."""
        if isinstance(self._code, Code):
            return self._code.device_code is not None
        return None if self._code.device_library is None else True

    def profiled(self) -> Module:
        """The same program, which tells how long each of its calls takes (see `profile.py`).

        Raises Error for a module that was not compiled in this process, or for a GPU.
        """
        remake = self._code.profiled if isinstance(self._code, Code) else None
        if remake is None:
            raise Error(
                "only a module that this process compiled for the CPU can be profiled",
                hint="compile the IRModule again with relax_mlir.compile",
            )
        return Module(remake())

    @property
    def kind(self) -> str:
        return "library" if isinstance(self._code, _Library) else "llvm"

    type_key = kind

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function of that name; raises AttributeError when there is none.

        `query_imports` also looks into the imported modules.
        """
        if query_imports and self.imports and not self.implements_function(name):
            for module in self.imports:
                if isinstance(module, DeviceModule):
                    continue
                if module.implements_function(name, query_imports=True):
                    return module.get_function(name, query_imports=True)
        if name == "stats" and name not in self._code.functions:
            return self.stats
        return self._code.function(name)

    def stats(self) -> str:
        """The functions of the module, one a line with its parameters; `mod["stats"]()` of TVM."""
        lines = ["Relax executable:"]
        for info in self._code.functions.values():
            lines.append(f"  {info.kind} function {info.name}({', '.join(info.parameters)})")
        return "\n".join(lines)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """True when the module has a function of that name."""
        try:
            self.get_function(name)
        except AttributeError:
            return False
        return True

    def function_info(self, name: str) -> FunctionInfo | None:
        """Kind and parameter names of a function; None when there is none of that name, or it is
        not known (in a library that others made)."""
        return self._code.functions.get(name)

    def function_names(self) -> list[str]:
        """The exported functions, as far as they are known."""
        return list(self._code.functions)

    def __getitem__(self, name: str) -> Any:
        return self.get_function(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_function(name)

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def inspect_source(self, fmt: str = "") -> str:
        """The module in the llvm dialect, as MLIR text."""
        if not isinstance(self._code, Code):
            raise Error("a module that was loaded from a library has no source")
        return self._code.text()

    get_source = inspect_source

    def import_module(self, module: Module) -> None:
        """Make the functions of another module reachable with `query_imports=True`."""
        self.imports.append(module)

    def get_write_formats(self) -> list[str]:
        """The formats of `write_to_file`."""
        return ["mlir", "o"] if isinstance(self._code, Code) else []

    def write_to_file(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the module as MLIR text ("mlir") or as an object file ("o").

        The format is the file's suffix when it is not given.  Raises ValueError for another one.
        """
        path = os.fspath(file_name)
        kind = fmt or os.path.splitext(path)[1].lstrip(".")
        if kind not in self.get_write_formats():
            known = ", ".join(self.get_write_formats()) or "none"
            raise ValueError(f"write_to_file: unknown format {kind!r}; there are: {known}")
        if kind == "mlir":
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.inspect_source())
            return
        from relax_mlir.runtime.export import write_object

        assert isinstance(self._code, Code)
        write_object(self._code, path)

    save = write_to_file

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        *,
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        constants_beside: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Write a shared library that `tvm_ffi.load_module` and `load_module` read anywhere.

        `fcompile(output, objects)` links instead of the system's `cc`.  With `constants_beside` the
        constants are no part of the library but in `<file_name>.safetensors`: `load_module` reads
        both, other programs hand them to the function `__relax_set_constants`.  Raises CompileError
        when there is no linker.
        """
        from relax_mlir.runtime.export import export_library

        if not isinstance(self._code, Code):
            raise Error("a module that was loaded from a library cannot be exported again")
        return export_library(
            self._code,
            os.fspath(file_name),
            fcompile,
            list(addons or ()),
            workspace_dir,
            constants_beside,
        )

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that takes the arguments of `func_name` and times it.

        It is called once to warm up and then `number` times in each of `repeat` repeats.
        """
        require_present(dev, "time_evaluator")
        function = self.get_function(func_name)

        def evaluate(*args: Any) -> BenchmarkResult:
            if f_preproc:
                get_global_func(f_preproc)(*args)
            return time_function(
                function,
                args,
                number=number,
                repeat=repeat,
                min_repeat_ms=min_repeat_ms,
                cooldown_interval_ms=cooldown_interval_ms,
                repeats_to_cooldown=repeats_to_cooldown,
                cache_flush_bytes=cache_flush_bytes,
                device=dev,
            )

        return evaluate

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.function_names())})"


def load_module(path: str | os.PathLike[str]) -> Module:
    """Load a library that `export_library` (or any other tool of the TVM FFI) has written."""
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"load_module: no such file: {name}")
    return Module(_Library(_unpacked(name) if name.endswith(".tar") else os.path.abspath(name)))


def _unpacked(archive: str) -> str:
    """The library in an archive, in a folder that lives as long as the process.

    Raises Error when there is not one.
    """
    from relax_mlir.contrib.tar import untar

    folder = tempfile.mkdtemp(prefix="relax_mlir_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    untar(archive, folder)
    found = [name for name in sorted(os.listdir(folder)) if name.endswith(".so")]
    if len(found) != 1:
        raise Error(f"load_module: {archive} holds {len(found)} libraries, not one")
    return os.path.join(folder, found[0])


def system_lib(symbol_prefix: str = "") -> Any:
    """The module of functions that are linked into the process."""
    return tvm_ffi.system_lib(symbol_prefix)
