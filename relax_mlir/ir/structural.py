"""Comparing modules, functions and types by what they say (TVM's `tvm.ir.structural_equal`)."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule

__all__ = ["assert_structural_equal", "structural_equal", "structural_hash"]


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two modules, functions, types or expressions say the same; names of variables do not
    count.

    Variables that are free in an expression are compared by identity, as TVM does without
    `map_free_vars`; modules and functions have none.
    """
    del map_free_vars
    return bool(lhs == rhs)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError with the lines that differ unless `structural_equal(lhs, rhs)`."""
    if structural_equal(lhs, rhs, map_free_vars):
        return
    left, right = _text(lhs).splitlines(), _text(rhs).splitlines()
    lines = "\n".join(unified_diff(left, right, "lhs", "rhs", lineterm=""))
    raise ValueError(f"structural_equal: lhs and rhs differ\n{lines or repr((lhs, rhs))}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A hash that is the same for modules, functions and types that are structurally equal."""
    del map_free_vars
    return hash(frozenset(node.functions.items()) if isinstance(node, IRModule) else node)


def _text(node: Any) -> str:
    return node.script() if isinstance(node, (IRModule, BaseFunc)) else str(node)
