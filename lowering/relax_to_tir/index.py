"""Legalisation of operators that select or place elements by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import Result, constant, legalize, positive_axis
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import named


def clamped(index: Any, size: Any) -> Any:
    """An index that may be outside, moved inside: reading there must not end the process."""
    return O.max(O.min(index, size - 1), te.const(0, size.dtype))


def wrapped(index: Any, size: Any) -> Any:
    """A negative index counts from the end; what is outside still is moved inside."""
    index = index.astype(size.dtype)
    return clamped(te.if_then_else(index < 0, index + size, index), size)


@legalize("take", result=True)
def _take(x: te.Tensor, indices: Any, *, axis: int | None, mode: str, result: Result) -> te.Tensor:
    at = positive_axis(axis or 0, x.ndim)
    rank = indices.ndim if isinstance(indices, te.Tensor) else 0
    size = x.shape[at]

    def compute(*index: Any) -> Any:
        inner = index[at : at + rank]
        chosen = indices(*inner) if isinstance(indices, te.Tensor) else indices
        chosen = chosen.astype(size.dtype)
        before, after = index[:at], index[at + rank :]
        if mode == "wrap":
            chosen = te.floormod(chosen, size)
        elif mode in ("clip", "fast"):
            chosen = clamped(chosen, size)
        elif mode == "nan":
            inside = te.all(chosen >= 0, chosen < size)
            safe = te.if_then_else(inside, chosen, te.const(0, size.dtype))
            absent = te.const(float("nan") if "float" in x.dtype else 0, x.dtype)
            return te.if_then_else(inside, x(*before, safe, *after), absent)
        return x(*before, chosen, *after)

    return named(result.shape, compute, "T_take")


@legalize("strided_slice", result=True)
def _strided_slice(
    x: te.Tensor,
    axes: Sequence[PrimExpr],
    begin: Sequence[PrimExpr],
    end: Sequence[PrimExpr],
    strides: Sequence[PrimExpr] | None,
    *,
    assume_inbound: bool,
    result: Result,
) -> te.Tensor:
    starts: dict[int, tuple[Any, int]] = {}
    steps = [1] * len(axes) if strides is None else [constant(s) for s in strides]
    for axis, low, step in zip(axes, begin, steps, strict=True):
        at = positive_axis(constant(axis), x.ndim)
        starts[at] = (_start(low, x.shape[at], step, assume_inbound), step)

    def compute(*indices: Any) -> Any:
        own = [starts[a][0] + i * starts[a][1] if a in starts else i for a, i in enumerate(indices)]
        return x(*own)

    return named(result.shape, compute, "T_strided_slice")


def _start(begin: Any, size: Any, step: int, inbound: bool) -> Any:
    """The first index of a slice, as Python finds it; only read where the slice is not empty."""
    constant = getattr(begin, "value", None)
    if constant is not None and constant < 0:
        begin = size + begin if inbound else O.max(size + begin, te.const(0, size.dtype))
    if step > 0 or inbound:
        return begin
    return O.min(begin, size - 1)


@legalize("gather_elements", "gather", result=True)
def _gather_elements(x: te.Tensor, indices: te.Tensor, *, axis: int, result: Result) -> te.Tensor:
    at = positive_axis(axis, x.ndim)

    def compute(*index: Any) -> Any:
        chosen = wrapped(indices(*index), x.shape[at])
        return x(*index[:at], chosen, *index[at + 1 :])

    return named(result.shape, compute, "T_gather")


@legalize("gather_nd", "te_gather_nd", result=True)
def _gather_nd(x: te.Tensor, indices: te.Tensor, *, batch_dims: int, result: Result) -> te.Tensor:
    rank = indices.ndim - 1
    width = constant(indices.shape[-1])

    def compute(*index: Any) -> Any:
        outer, inner = index[:rank], index[rank:]
        chosen = [wrapped(indices(*outer, k), x.shape[batch_dims + k]) for k in range(width)]
        return x(*outer[:batch_dims], *chosen, *inner)

    return named(result.shape, compute, "gather_nd")


@legalize("index_tensor", result=True)
def _index_tensor(x: te.Tensor, indices: Sequence[te.Tensor], *, result: Result) -> te.Tensor:
    rank = len(result.shape) - (x.ndim - len(indices))

    def compute(*index: Any) -> Any:
        outer, inner = index[:rank], index[rank:]
        chosen = [
            wrapped(topi.broadcast_to(t, result.shape[:rank])(*outer), x.shape[a])
            for a, t in enumerate(indices)
        ]
        return x(*chosen, *inner)

    return named(result.shape, compute, "index_tensor")


@legalize("one_hot", immediate=(1, 2), result=True)
def _one_hot(
    indices: te.Tensor, on_value: Any, off_value: Any, *, depth: int, axis: int, result: Result
) -> te.Tensor:
    at = positive_axis(axis, len(result.shape))

    def compute(*index: Any) -> Any:
        chosen = indices(*index[:at], *index[at + 1 :])
        on = on_value() if isinstance(on_value, te.Tensor) else on_value
        off = off_value() if isinstance(off_value, te.Tensor) else off_value
        position = index[at].astype(indices.dtype)
        return te.if_then_else(chosen.equal(position), on, off).astype(result.dtype)

    return named(result.shape, compute, "T_one_hot")


@legalize("slice_scatter", result=True)
def _slice_scatter(
    x: te.Tensor,
    source: te.Tensor,
    start: PrimExpr,
    end: PrimExpr,
    step: PrimExpr,
    *,
    axis: int,
    result: Result,
) -> te.Tensor:
    at = positive_axis(axis, x.ndim)
    size, stride = x.shape[at], constant(step)
    first = _start(start, size, stride, False)

    def compute(*index: Any) -> Any:
        offset = index[at] - first
        position = te.floordiv(offset, stride)
        inside = te.all(
            offset >= 0,
            te.floormod(offset, stride).equal(te.const(0, size.dtype)),
            position < source.shape[at],
        )
        placed = source(*index[:at], position, *index[at + 1 :])
        return te.if_then_else(inside, placed, x(*index))

    return named(result.shape, compute, "slice_scatter")
