"""Padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import as_int


def _padding(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None
) -> tuple[list[PrimExpr], list[PrimExpr], list[PrimExpr]]:
    before = [as_expr(p) for p in pad_before]
    after = before if pad_after is None else [as_expr(p) for p in pad_after]
    if len(before) != data.ndim or len(after) != data.ndim:
        raise Error(f"pad: {data.ndim} dimensions, {len(before)} and {len(after)} widths given")
    shape = [
        simplify(O.cast(s.dtype, O.add(O.add(s, b), a)))
        for s, b, a in zip(data.shape, before, after, strict=True)
    ]
    return before, after, shape


def pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """data surrounded by `pad_value`; a negative width crops."""
    before, after, shape = _padding(data, pad_before, pad_after)
    value = pad_value() if isinstance(pad_value, Tensor) else pad_value
    filler = O.cast(data.dtype, as_expr(value))

    def body(*i: Any) -> PrimExpr:
        source, checks = [], []
        for index, low, high, size in zip(i, before, after, data.shape, strict=True):
            source.append(O.subtract(index, low))
            if as_int(low) != 0:
                checks.append(O.less_equal(low, index))
            if as_int(high) != 0:
                checks.append(O.less(index, simplify(O.add(size, low))))
        return I.if_then_else(I.all(*checks), data(*source), filler) if checks else data(*source)

    return compute(shape, body, name, "injective,pad", attrs)


def mirror_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """data continued by its mirror image, with ("SYMMETRIC") or without ("REFLECT") the edge."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise Error(f'mirror_pad: mode must be "SYMMETRIC" or "REFLECT", given {mode!r}')
    before, _, shape = _padding(data, pad_before, pad_after)
    edge = 1 if mode == "SYMMETRIC" else 0

    def mirrored(index: PrimExpr, low: PrimExpr, size: PrimExpr) -> PrimExpr:
        inside = O.subtract(index, low)
        left = O.subtract(O.subtract(low, index), edge)
        right = simplify(O.subtract(O.add(O.multiply(size, 2), low), O.add(index, 2 - edge)))
        end = simplify(O.add(size, low))
        return I.if_then_else(
            O.less_equal(end, index), right, I.if_then_else(O.less(index, low), left, inside)
        )

    return compute(
        shape,
        lambda *i: data(*map(mirrored, i, before, data.shape)),
        name,
        "injective,pad",
    )


def reflect_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None
) -> Tensor:
    """Mirror without repeating the edge."""
    return mirror_pad(data, pad_before, pad_after, "REFLECT")


def replicate_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None
) -> Tensor:
    """The edge elements repeated."""
    before, _, shape = _padding(data, pad_before, pad_after)

    def nearest(index: PrimExpr, low: PrimExpr, size: PrimExpr) -> PrimExpr:
        inside = O.subtract(index, low)
        return O.max(O.min(inside, O.subtract(size, 1)), O.const(0, inside.dtype))

    return compute(
        shape, lambda *i: data(*map(nearest, i, before, data.shape)), "ReplicatePadInput", "pad"
    )


def circular_pad(
    data: Tensor, pad_before: Sequence[Any], pad_after: Sequence[Any] | None = None
) -> Tensor:
    """data continued periodically."""
    before, _, shape = _padding(data, pad_before, pad_after)

    def wrapped(index: PrimExpr, low: PrimExpr, size: PrimExpr) -> PrimExpr:
        return O.floormod(O.add(O.subtract(index, low), size), size)

    return compute(
        shape, lambda *i: data(*map(wrapped, i, before, data.shape)), "CircularPadInput", "pad"
    )
