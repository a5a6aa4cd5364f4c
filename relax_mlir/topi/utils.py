"""Sizes of tensors as numbers (TVM's `tvm.topi.utils`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir.expr import Var, as_expr
from relax_mlir.topi.common import as_int

__all__ = ["get_const_int", "get_const_tuple"]


def get_const_int(expr: Any) -> int:
    """A constant integer expression as an int.  Raises Error for others."""
    known = as_int(expr)
    if known is None:
        raise Error(f"a constant integer is expected, given {expr}")
    return known


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Sizes as ints; sizes that are variables stay what they are.  Raises Error for others."""
    sizes = [as_expr(size) for size in in_tuple]
    return tuple(size if isinstance(size, Var) else get_const_int(size) for size in sizes)
