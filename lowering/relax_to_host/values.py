"""Relax values as host code knows them.

A value is described at compile time by one of the classes here and lives at run time in SSA names
(sizes, data pointers, numbers) or in an `Any` slot on the stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.dialects import dims
from relax_mlir.lowering.to_llvm.ffi_arguments import TensorValue

__all__ = [
    "DataTypeValue",
    "NoneValue",
    "ObjectValue",
    "PrimValue",
    "ShapeValue",
    "StringValue",
    "TensorValue",
    "TupleValue",
    "Value",
    "is_float",
]


@dataclass
class ObjectValue:
    """Anything: an Any at `slot`."""

    slot: str


@dataclass
class ShapeValue:
    """A shape whose dimensions are known by expression."""

    dims: tuple[dims.Dim, ...]


@dataclass
class PrimValue:
    """A number of any dtype: `value` is an SSA name of i64 (integers, bools) or f64."""

    dtype: str
    value: str


@dataclass
class StringValue:
    """A string that is part of the program."""

    text: str


@dataclass
class DataTypeValue:
    """A dtype given to a packed function."""

    dtype: str


@dataclass
class NoneValue:
    """Nothing: the result of a call made for its effects."""


@dataclass
class TupleValue:
    """A tuple that was taken apart at compile time."""

    fields: list[Value]


Value: TypeAlias = (
    TensorValue
    | ObjectValue
    | ShapeValue
    | PrimValue
    | StringValue
    | DataTypeValue
    | NoneValue
    | TupleValue
)


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))
