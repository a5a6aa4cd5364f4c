"""Other TVM versions' module names (DESIGN.md, decision 15): one table.

`import relax_mlir.tirx` gives the module `relax_mlir.tir` itself, whatever the form of the import
statement.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MODULES = {
    "tirx": "tir",
    "s_tir": "tir",
    "s_tir.schedule": "tir.schedule",
    **{
        f"{tir}.dlight{part}": f"dlight{part}"
        for tir in ("tir", "s_tir")
        for part in ("", ".analysis", ".base", ".cpu", ".gpu")
    },
    **{f"{tir}.meta_schedule": "meta_schedule" for tir in ("tir", "s_tir")},
    "support": "contrib",
    "error": "errors",
    "nd": "runtime.ndarray",
    "runtime.nd": "runtime.ndarray",
    "ir.transform": "transform",
    "ir.instrument": "instrument",
    "ir.base": "ir.structural",
    "script.tirx": "script.tir",
    **{f"script.parser.{name}": f"script.{name}" for name in ("ir", "relax", "tir")},
    "script.parser.tirx": "script.tir",
    "relax.ir.instrument": "instrument",
    "relax.pipeline": "relax.pipelines",
    **dict.fromkeys(("tir.transform", "tirx.transform", "s_tir.transform"), "transform.tir"),
    "relax.backend.cuda": "relax.backend.gpu_generic",
    "relax.backend.rocm": "relax.backend.gpu_generic",
    "relax.frontend.torch.exported_program_translator": "relax.frontend.torch.exported_program",
    "relax.frontend.torch.fx_translator": "relax.frontend.torch.fx",
    "relax.frontend.onnx.onnx_frontend": "relax.frontend.onnx",
}
"""Alias -> module, both below `relax_mlir`."""

TOP_LEVEL = [alias for alias in MODULES if "." not in alias]


def _real_name(name: str) -> str | None:
    """The module an alias stands for, or that a module inside of an alias is; None for others."""
    parent, rest = name, ""
    while parent:
        if parent in MODULES:
            return MODULES[parent] + rest
        parent, _, last = parent.rpartition(".")
        rest = f".{last}{rest}"
    return None


class _AliasFinder(MetaPathFinder, Loader):
    """Finds the modules of the table; the module found is the real one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        prefix, _, name = fullname.partition(".")
        real = _real_name(name) if prefix == __package__ else None
        if real is None or importlib.util.find_spec(f"{__package__}.{real}") is None:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        real = importlib.import_module(f"{__package__}.{_real_name(spec.name.partition('.')[2])}")
        spec.loader_state = real.__spec__
        return real

    def exec_module(self, module: ModuleType) -> None:
        # The real module has run already; the import system just gave it the alias's spec.
        module.__spec__ = module.__spec__.loader_state if module.__spec__ else None


def install() -> None:
    """Put the finder in front; safe to call twice."""
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())
