"""Layouts such as "NCHW": which dimension of a tensor plays which role."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import InferError
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The spatial letters by their number."""


def check(layout: object, letters: str, what: str) -> str:
    """`layout` if it is an arrangement of `letters`; otherwise InferError."""
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        raise InferError(f"{what} must be an arrangement of {letters}, got {layout!r}")
    return layout


def require_rank(info: TensorInfo, layout: str, kind: ir.Type, what: str) -> None:
    if info.ndim not in (-1, len(layout)):
        raise InferError(f"{what} must have the layout {layout}, got {types.describe(kind)}")


def per_dimension(value: object, count: int, what: str) -> tuple[int, ...]:
    """One integer a spatial dimension, from one for all of them or a list."""
    given = [value] if isinstance(value, int) else list(value)  # type: ignore[call-overload]
    if len(given) == 1:
        given *= count
    if len(given) != count:
        raise InferError(f"{what} has {len(given)} entries for {count} spatial dimensions")
    return tuple(given)


def padding_pairs(value: object, count: int) -> list[tuple[int, int]]:
    """(before, after) a spatial dimension, from one number, one a dimension, or both ends."""
    given: Sequence[int] = (
        [value] if isinstance(value, int) else list(value)  # type: ignore[call-overload]
    )
    if len(given) == 2 * count:
        return list(zip(given[:count], given[count:], strict=True))
    if len(given) not in (1, count):
        raise InferError(f"padding has {len(given)} entries for {count} spatial dimensions")
    return [(p, p) for p in per_dimension(given, count, "padding")]
