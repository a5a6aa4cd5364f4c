"""Dtype names with lanes: `float32x4` has four, `float32xvscalex4` four for each unit of a length
that the machine chooses (`T.vscale()`)."""

from __future__ import annotations

from functools import lru_cache

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.mlir import ir

_SCALABLE = "xvscale"


class Scalable(int):
    """A number of lanes for each unit of the machine's vector length; written `vscalex4` in a
    dtype, hence `f"{scalar}x{lanes}"` makes the dtype of either kind of vector."""

    def __str__(self) -> str:
        return f"vscalex{int(self)}"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalable) and int(self) == int(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("vscale", int(self)))


def canonical_dtype(dtype: object) -> str:
    """TVM's name of a dtype; vectors keep their lanes (`float32x4`).  Raises Error."""
    return _canonical_text(dtype) if isinstance(dtype, str) else _canonical(dtype)


@lru_cache(maxsize=256)
def _canonical_text(text: str) -> str:
    if text in ("", "void"):  # calls without a result
        return text
    base, _, lanes = text.rpartition("x")
    if not base or not lanes.isdigit():
        return _canonical(text)
    if base.endswith(_SCALABLE):
        return f"{_canonical(base.removesuffix(_SCALABLE))}x{Scalable(lanes)}"
    return _canonical(base) + (f"x{lanes}" if lanes != "1" else "")


def _canonical(dtype: object) -> str:
    try:
        return dtypes.canonical(dtype)
    except ValueError as error:
        raise Error(str(error)) from None


def lanes_of(dtype: str) -> int:
    """The number of lanes of a dtype: 4 for `float32x4`, Scalable(4) for `float32xvscalex4`, 1 for
    scalars."""
    head, _, tail = dtype.rpartition("x")
    if not head or not tail.isdigit():
        return 1
    return Scalable(tail) if head.endswith(_SCALABLE) else int(tail)


def scalar_dtype(dtype: str) -> str:
    """The dtype of one lane."""
    if dtype.rpartition("x")[0].endswith(_SCALABLE):
        return dtype.rsplit(_SCALABLE, 1)[0]
    return dtype.rsplit("x", 1)[0] if lanes_of(dtype) > 1 else dtype


def vector_type(lanes: int, element: ir.Type) -> ir.VectorType:
    """`vector<4xf32>`, or `vector<[4]xf32>` of scalable lanes."""
    return ir.VectorType.get([int(lanes)], element, scalable=[isinstance(lanes, Scalable)])


def lanes_of_type(kind: ir.Type) -> int:
    """The lanes of a vector type of one dimension."""
    vector = ir.VectorType(kind)
    return Scalable(vector.shape[0]) if vector.scalable_dims[0] else vector.shape[0]


__all__ = [
    "Scalable",
    "canonical_dtype",
    "lanes_of",
    "lanes_of_type",
    "scalar_dtype",
    "vector_type",
]
