"""Short forms of values: `relax.prim_value(3)`, `relax.shape([n, 4])`, `relax.str("x")`."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from relax_mlir.relax.expr import DataTypeImm, ExternFunc, PrimValue, ShapeExpr, StringImm, Tuple


def prim_value(value: Any) -> PrimValue:
    """A scalar from a number or a `tir` expression."""
    return PrimValue(value)


def shape(values: Sequence[Any]) -> ShapeExpr:
    """A shape value."""
    return ShapeExpr(values)


def extern(name: builtins.str) -> ExternFunc:
    """A registered function."""
    return ExternFunc(name)


def tuple(*fields: Any) -> Tuple:
    """A tuple of expressions."""
    return Tuple(fields)


def str(value: Any) -> StringImm:
    """A string value."""
    return StringImm(value)


def dtype(value: Any) -> DataTypeImm:
    """A dtype value."""
    return DataTypeImm(value)
