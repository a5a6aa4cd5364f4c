"""Packages whose modules are imported when one of their names is first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["names_on_demand"]


def names_on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: for each module in it, the names that the module gives.

    A name is looked up once; after that the package has it.  What type checkers need to know is
    imported under `TYPE_CHECKING` beside.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name in module_of:
            value = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        elif name in modules:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
