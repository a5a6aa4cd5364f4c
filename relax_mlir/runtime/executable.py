"""What compiling gives: an executable that can be run here or exported as a library."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from relax_mlir.runtime.benchmark import BenchmarkResult
from relax_mlir.runtime.compiled_code import Code
from relax_mlir.runtime.module import Module

__all__ = ["Executable", "VMExecutable"]


class Executable:
    """A compiled module.  `ex["f"]` is a function, `ex(...)` calls the entry function."""

    def __init__(self, code: Code) -> None:
        self.mod = Module(code)

    @property
    def entry_name(self) -> str:
        return self.mod.entry_name

    @property
    def entry_func(self) -> Any:
        return self.mod.entry_func

    @property
    def imports(self) -> list[Any]:
        """The modules that this one launches: the kernels of a GPU target."""
        return self.mod.imports

    imported_modules = imports

    def jit(self, **options: Any) -> Module:
        """The module whose functions can be called."""
        return self.mod

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function of that name; raises AttributeError when there is none."""
        return self.mod.get_function(name)

    def implements_function(self, name: str) -> bool:
        return self.mod.implements_function(name)

    def __getitem__(self, name: str) -> Any:
        return self.mod.get_function(name)

    def __call__(self, *args: Any) -> Any:
        return self.mod(*args)

    def export_library(self, file_name: str | os.PathLike[str], **options: Any) -> Any:
        """Write a shared library; see `Module.export_library`."""
        return self.mod.export_library(file_name, **options)

    def save(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the module as an object file or text; see `Module.write_to_file`."""
        self.mod.write_to_file(file_name, fmt)

    def time_evaluator(
        self, func_name: str, dev: Any = None, **options: Any
    ) -> Callable[..., BenchmarkResult]:
        """Times a function; see `Module.time_evaluator`."""
        return self.mod.time_evaluator(func_name, dev, **options)

    def inspect_source(self, fmt: str = "") -> str:
        return self.mod.inspect_source(fmt)

    get_source = inspect_source

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.mod.function_names())})"


class VMExecutable(Executable):
    """An executable with Relax functions; `relax.VirtualMachine` runs it."""

    def as_text(self) -> str:
        """The compiled module as MLIR text (TVM prints its bytecode here)."""
        return self.mod.inspect_source()

    def stats(self) -> str:
        """The functions of the executable, one a line with its parameters."""
        return self.mod.stats()

    @classmethod
    def of(cls, other: Executable) -> VMExecutable:
        """The same code as a VMExecutable."""
        made = cls.__new__(cls)
        made.mod = other.mod
        return made
