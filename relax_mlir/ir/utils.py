"""`tvm.ir.utils`: what classes that users derive from TVM's objects are decorated with."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["derived_object"]

Class = TypeVar("Class", bound=type)


def derived_object(cls: Class) -> Class:
    """TVM's decorator of classes that are derived from `PyDatabase` and its like, which are
    ordinary classes here: the class itself."""
    return cls
