"""What the tools read: MLIR text, or a Python file with TVMScript programs."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.text import parse_module
from relax_mlir.lowering.passes import ModuleState


def read_text(path: str) -> str:
    """The text of a file, or of standard input for "-"; raises Error when it cannot be read."""
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot open input file '{path}': {error}") from None


def parse_mlir(text: str) -> ModuleState:
    """The module of MLIR text; raises MLIRError."""
    with mlir.scope():
        return ModuleState(parse_module(text))


def script_modules(path: str) -> dict[str, IRModule]:
    """The programs of a TVMScript file by their Python name.

    The file is run.  Its IRModules are taken each on its own; its free functions together form the
    module "functions".  Raises Error when there are none.
    """
    names = runpy.run_path(path, run_name="__relax_opt__")
    modules = {
        name: value
        for name, value in names.items()
        if isinstance(value, IRModule) and not name.startswith("_")
    }
    functions = {
        name: value
        for name, value in names.items()
        if isinstance(value, BaseFunc) and not name.startswith("_")
    }
    if functions:
        modules["functions"] = IRModule({**functions})
    if not modules:
        raise Error(f"'{path}' defines no IRModule and no function")
    return modules


def load(path: str, name: str | None = None) -> IRModule:
    """The one program of a file (`name` chooses among several)."""
    if not path.endswith(".py"):
        return IRModule.parse(read_text(path))
    modules = script_modules(path)
    if name is not None:
        if name not in modules:
            raise Error(f"'{path}' has no program '{name}'; it has {', '.join(modules)}")
        return modules[name]
    if len(modules) > 1:
        raise Error(f"'{path}' has several programs: {', '.join(modules)}; choose one by --module")
    return next(iter(modules.values()))
