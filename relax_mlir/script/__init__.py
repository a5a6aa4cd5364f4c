"""TVMScript: programs written as Python, parsed into modules and printed back.

`from relax_mlir.script import ir as I, relax as R, tir as T` (or `tirx as T`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from relax_mlir.script.parser.entry import from_source, ir_module, parse

_NAMESPACES = ("ir", "relax", "tir", "tirx", "ty")

if TYPE_CHECKING:
    from relax_mlir.script import ir, relax, tir, tirx, ty

__all__ = ["from_source", "ir", "ir_module", "parse", "relax", "tir", "tirx", "ty"]


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"relax_mlir.script.{name}")
    raise AttributeError(f"module 'relax_mlir.script' has no attribute '{name}'")
