"""Layouts such as "NCHW": which dimension of a tensor plays which role."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.attributes import integers
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import InferError
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The spatial letters by their number."""


_PART = re.compile(r"([A-Z])|(\d+)([a-z])")


def parts(layout: str) -> list[tuple[str, int]]:
    """The dimensions of a layout: "NCHW4c" has one for each of NCHW (as ("N", 0)) and the inner
    part of C, ("C", 4)."""
    return [
        (match[1], 0) if match[1] else (match[3].upper(), int(match[2]))
        for match in _PART.finditer(layout)
    ]


def check(layout: object, letters: str, what: str) -> str:
    """`layout` if it is an arrangement of `letters`, some of them perhaps split into an outer and
    an inner dimension; otherwise InferError."""
    if isinstance(layout, str) and _PART.sub("", layout) == "":
        found = parts(layout)
        outer = sorted(letter for letter, factor in found if not factor)
        inner = [letter for letter, factor in found if factor]
        if outer == sorted(letters) and set(inner) <= set(letters):
            return layout
    raise InferError(f"{what} must be an arrangement of {letters}, got {layout!r}")


def require_rank(info: TensorInfo, layout: str, kind: ir.Type, what: str) -> None:
    if info.ndim not in (-1, rank(layout)):
        raise InferError(f"{what} must have the layout {layout}, got {types.describe(kind)}")


def rank(layout: str) -> int:
    return len(parts(layout))


def sizes_of(dims: Sequence[Dim], layout: str) -> dict[str, Dim]:
    """The size of each letter; those that are split have the product of their parts."""
    sizes: dict[str, Dim] = {}
    for (letter, _), dim in zip(parts(layout), dims, strict=True):
        sizes[letter] = dim_algebra.multiply(sizes[letter], dim) if letter in sizes else dim
    return sizes


def dims_of(sizes: Mapping[str, Dim], layout: str) -> tuple[Dim, ...]:
    """The dimensions of a tensor whose letters have these sizes.  Raises InferError when an inner
    part does not divide a letter's size."""
    found = parts(layout)
    inner: dict[str, int] = {}
    for letter, factor in found:
        if factor:
            inner[letter] = inner.get(letter, 1) * factor
    for letter, factor in inner.items():
        size = sizes[letter]
        if isinstance(size, int) and size % factor:
            raise InferError(f"{letter} is {size}, which the layout {layout} splits by {factor}")
    return tuple(
        factor or dim_algebra.exact_divide(sizes[letter], inner.get(letter, 1))
        for letter, factor in found
    )


def per_dimension(value: object, count: int, what: str) -> tuple[int, ...]:
    """One integer a spatial dimension, from one for all of them or a list."""
    given = integers(value)
    if len(given) == 1:
        given *= count
    if len(given) != count:
        raise InferError(f"{what} has {len(given)} entries for {count} spatial dimensions")
    return tuple(given)


def padding_pairs(value: object, count: int) -> list[tuple[int, int]]:
    """(before, after) a spatial dimension, from one number, one a dimension, or both ends."""
    given = integers(value)
    if len(given) == 2 * count:
        return list(zip(given[:count], given[count:], strict=True))
    if len(given) not in (1, count):
        raise InferError(f"padding has {len(given)} entries for {count} spatial dimensions")
    return [(p, p) for p in per_dimension(given, count, "padding")]
