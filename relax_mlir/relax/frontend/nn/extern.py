"""External modules: functions of the TVM FFI in a library or in source, called by a model.

`symbols` maps the name of each function to a Python function that says what it gives: it takes the
tensors of a call and returns placeholders.  The function itself takes the arguments and then the
tensors to write.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from relax_mlir.errors import CompileError
from relax_mlir.relax.frontend.nn import op
from relax_mlir.relax.frontend.nn.core import Module

__all__ = ["ExternModule", "ObjectModule", "SourceModule", "external_modules"]


class ExternModule(Module):
    """Functions that are registered when the program runs: `module["name"](x, y)`."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]) -> None:
        self.symbols = dict(symbols)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of that name, to call in a `forward`.  Raises KeyError."""
        if name not in self.symbols:
            raise KeyError(f"the module has no '{name}'; it has {', '.join(self.symbols)}")

        def call(*args: Any) -> Any:
            return op.extern(name, args, self.symbols[name](*args))

        return call

    def load(self) -> None:
        """Make the functions known to programs; nothing to do for registered ones."""


class ObjectModule(ExternModule):
    """Functions in an object file or a shared library."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]], filepath: str | Path) -> None:
        super().__init__(symbols)
        self.filepath = Path(filepath)
        if not self.filepath.exists():
            raise FileNotFoundError(f"ObjectModule: no such file: {filepath}")

    def library(self, folder: Path) -> Path:
        """The shared library with the functions."""
        if self.filepath.suffix != ".o":
            return self.filepath
        from relax_mlir.runtime.linking import link_shared

        path = folder / f"{self.filepath.stem}.so"
        link_shared(str(path), [str(self.filepath)])
        return path

    def load(self) -> None:
        """Load the library and register its functions under their names."""
        from relax_mlir.runtime import load_module, register_global_func

        folder = Path(tempfile.mkdtemp(prefix="relax_mlir_extern_"))
        module = load_module(self.library(folder))
        for name in self.symbols:
            register_global_func(name, module.get_function(name), override=True)


class SourceModule(ObjectModule):
    """Functions in C or C++ source, which the system's compiler translates."""

    def __init__(
        self,
        symbols: Mapping[str, Callable[..., Any]],
        source_code: str | Path,
        source_format: str = "cpp",
        compile_options: Sequence[str] | None = None,
        compiler: str | None = None,
        output_format: str = "obj",
    ) -> None:
        ExternModule.__init__(self, symbols)
        if source_format not in ("c", "cpp"):
            raise ValueError(f"source_format is 'c' or 'cpp', not {source_format!r}")
        text = source_code
        if isinstance(source_code, Path) or "\n" not in source_code:
            text = Path(source_code).read_text(encoding="utf-8")
        self.source_code = str(text)
        self.source_format = source_format
        self.compile_options = list(compile_options or ["-O2"])
        self.compiler = compiler
        del output_format  # objects and libraries are both loaded as libraries

    def library(self, folder: Path) -> Path:
        from relax_mlir.runtime.ffi import tvm_ffi
        from relax_mlir.runtime.linking import find_compiler, link_shared

        source = folder / f"source.{self.source_format}"
        source.write_text(self.source_code, encoding="utf-8")
        driver = self.compiler or find_compiler()
        if driver is None:
            raise CompileError("SourceModule: no C compiler was found", hint="install gcc or clang")
        info = tvm_ffi.libinfo
        includes = [f"-I{info.find_include_path()}", f"-I{info.find_dlpack_include_path()}"]
        options = [*includes, *self.compile_options]
        if self.source_format == "cpp":
            options += ["-std=c++17", "-lstdc++"]
        path = folder / "source.so"
        objects = [str(source), info.find_libtvm_ffi()]
        link_shared(str(path), objects, options=options, compiler=driver)
        return path


def external_modules(module: Module) -> list[ExternModule]:
    """The external modules of a module and those inside it, each once."""
    found: dict[int, ExternModule] = {}
    if isinstance(module, ExternModule):
        found[id(module)] = module
    for _, inner in module.named_modules():
        if isinstance(inner, ExternModule):
            found.setdefault(id(inner), inner)
    return list(found.values())
