"""What a pass is, and how passes are found.

A pass is a frozen dataclass in its own file: its fields are its options, its kebab-case name starts
with the dialect it works on (`relax-fuse-ops` in `lowering/relax/fuse_ops.py`).  `register_pass`
files it; `find_pass` loads it by name.  Pipelines, which mix ours with upstream's, are in
`pipeline.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from relax_mlir.errors import PassError
from relax_mlir.ir.state import ModuleState

__all__ = ["ModuleState", "Pass", "all_passes", "find_pass", "register_pass"]


@dataclass(frozen=True)
class Pass(ABC):
    """Base of all passes.  `run` changes `state.module` in place; it must verify afterwards."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    @abstractmethod
    def run(self, state: ModuleState) -> None:
        """Transform `state.module` in place."""

    def __str__(self) -> str:
        """The pass as it is written in a pipeline: `name{option=value}`."""
        options = [
            f"{f.name.replace('_', '-')}={_spell(getattr(self, f.name))}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        ]
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(_spell, value))
    return str(value)


PassType = TypeVar("PassType", bound=type[Pass])
_REGISTRY: dict[str, type[Pass]] = {}
_PACKAGES = ("relax_mlir.lowering", "relax_mlir.dlight")
"""The packages whose files declare passes."""
_DECLARATION = re.compile(r"""^@register_pass\(\s*["']([\w.-]+)["']""", re.MULTILINE)


def register_pass(name: str) -> Callable[[PassType], PassType]:
    """Class decorator: file the pass under its pipeline name."""

    def register(cls: PassType) -> PassType:
        if name in _REGISTRY and _REGISTRY[name].__module__ != cls.__module__:
            raise PassError(f"pass '{name}' is declared twice")
        cls.name = name
        cls.summary = (cls.__doc__ or "").strip().split("\n")[0]
        _REGISTRY[name] = cls
        return cls

    return register


@cache
def _import_all() -> None:
    for package in _PACKAGES:
        for module in pkgutil.walk_packages([str(_folder(package))], f"{package}."):
            importlib.import_module(module.name)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, package
    return Path(spec.submodule_search_locations[0])


def all_passes() -> dict[str, type[Pass]]:
    """Every registered pass by name."""
    _import_all()
    return dict(sorted(_REGISTRY.items()))


@cache
def _declarations() -> dict[str, str]:
    """The file (as a module name) that declares each pass, read off the sources: a pipeline then
    imports the files of its own passes only."""
    found: dict[str, str] = {}
    for package in _PACKAGES:
        folder = _folder(package)
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            for name in _DECLARATION.findall(path.read_text(encoding="utf-8")):
                found[name] = ".".join((package, *parts)).removesuffix(".__init__")
    return found


def pass_names() -> list[str]:
    """The names of all passes, without importing them."""
    return sorted({*_declarations(), *_REGISTRY})


def find_pass(name: str) -> type[Pass] | None:
    """The pass of that name, or None (it may be one of upstream's)."""
    if name not in _REGISTRY and name in _declarations():
        importlib.import_module(_declarations()[name])
    return _REGISTRY.get(name)
