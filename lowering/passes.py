"""What a pass is, and how passes are found.

A pass is a frozen dataclass in its own file: its fields are its options, its kebab-case name starts
with the dialect it works on (`relax-fuse-ops` in `lowering/relax/fuse_ops.py`).  `register_pass`
files it; `find_pass` loads it by name.  Pipelines, which mix ours with upstream's, are in
`pipeline.py`.
"""

from __future__ import annotations

import importlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from itertools import chain
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
    for module in chain.from_iterable(_modules().values()):
        importlib.import_module(module)


@cache
def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.submodule_search_locations, package
    return Path(spec.submodule_search_locations[0])


def all_passes() -> dict[str, type[Pass]]:
    """Every registered pass by name."""
    _import_all()
    return dict(sorted(_REGISTRY.items()))


@cache
def _modules() -> dict[str, list[str]]:
    """The modules of the packages by the names of their files."""
    found: dict[str, list[str]] = {}
    for package in _PACKAGES:
        root = str(_folder(package))
        for folder, _, files in os.walk(root):
            inner = [package, *Path(folder).relative_to(root).parts]
            for stem, suffix in map(os.path.splitext, files):
                if suffix == ".py" and stem != "__init__":
                    found.setdefault(stem, []).append(".".join([*inner, stem]))
    return found


def _declared_in(module: str) -> list[str]:
    """The passes that a module declares, read off its source."""
    package = next(p for p in _PACKAGES if module.startswith(f"{p}."))
    inner = module.removeprefix(f"{package}.").split(".")
    return _DECLARATION.findall(
        _folder(package).joinpath(*inner).with_suffix(".py").read_text(encoding="utf-8")
    )


def _module_of(name: str) -> str | None:
    """The module that declares a pass: its file has the pass's name, with the dialect or without,
    so that a pipeline imports, and reads, the files of its own passes only."""
    words = name.replace("-", "_").split("_")
    candidates = ["_".join(words[start:]) for start in range(len(words))]
    modules = [module for stem in candidates for module in _modules().get(stem, ())]
    return next((module for module in modules if name in _declared_in(module)), None)


def pass_names() -> list[str]:
    """The names of all passes, without importing them."""
    modules = chain.from_iterable(_modules().values())
    return sorted({*chain.from_iterable(map(_declared_in, modules)), *_REGISTRY})


def find_pass(name: str) -> type[Pass] | None:
    """The pass of that name, or None (it may be one of upstream's)."""
    module = None if name in _REGISTRY else _module_of(name)
    if module is not None:
        importlib.import_module(module)
    return _REGISTRY.get(name)
