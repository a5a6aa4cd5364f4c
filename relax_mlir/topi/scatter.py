"""Writing elements at computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import (
    as_int,
    broadcast_indices,
    broadcast_shapes,
    named,
    normalize_axis,
)
from relax_mlir.topi.imperative import elements

_REDUCTIONS: dict[str, Callable[[Any, Any], PrimExpr]] = {
    "update": lambda old, new: new,
    "add": O.add,
    "mul": O.multiply,
    "min": O.min,
    "max": O.max,
}


def _combine(reduction: str, what: str) -> Callable[[Any, Any], PrimExpr]:
    if reduction not in _REDUCTIONS:
        names = ", ".join(_REDUCTIONS)
        raise Error(f"{what}: reduction must be one of {names}, given {reduction!r}")
    return _REDUCTIONS[reduction]


def _copy(build: PrimFuncBuilder, source: Buffer, target: Buffer) -> None:
    with elements(build, source.shape, "c", parallel=True) as at:
        build.store(target, source[tuple(at)], at)


def _from_start(index: PrimExpr, size: PrimExpr) -> PrimExpr:
    """A negative index counts from the end."""
    return O.select(O.less(index, 0), O.add(index, O.cast(index.dtype, size)), index)


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """data with `updates[i, j]` combined into `[indices[i, j], j]` (for axis 0)."""
    axis, combine = normalize_axis(axis, data.ndim), _combine(reduction, "scatter_elements")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, places, values = ins
        _copy(build, source, outs[0])
        with elements(build, indices.shape) as at:
            place = build.let("place", _from_start(places[tuple(at)], data.shape[axis]))
            where = [*at[:axis], place, *at[axis + 1 :]]
            build.store(outs[0], combine(outs[0][tuple(where)], values[tuple(at)]), where)

    described = [(data.shape, data.dtype)]
    return imperative(
        described, [data, indices, updates], emit, "scatter_elements_generic", "scatter_elements"
    )


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """data with slices `updates[:, ...]` combined where the columns of `indices` (M, ...) say."""
    combine, depth = _combine(mode, "scatter_nd"), as_int(indices.shape[0])
    if depth is None or depth > data.ndim:
        raise Error(f"scatter_nd: {indices.shape[0]} indices into {data.ndim} dimensions")
    outer = indices.ndim - 1

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, places, values = ins
        _copy(build, source, outs[0])
        with elements(build, updates.shape) as at:
            head = [
                build.let(f"place{m}", _from_start(places[(m, *at[:outer])], data.shape[m]))
                for m in range(depth)
            ]
            where = [*head, *at[outer:]]
            build.store(outs[0], combine(outs[0][tuple(where)], values[tuple(at)]), where)

    described = [(data.shape, data.dtype)]
    return imperative(described, [data, indices, updates], emit, "scatter_nd_generic", "scatter_nd")


def index_put(
    data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """numpy's `data[i0, i1, ...] = values` (`+=` when accumulating); negative indices wrap."""
    tensors = list(indices)
    outer = tensors[0].shape
    for tensor in tensors[1:]:
        outer = broadcast_shapes(outer, tensor.shape)
    shape = [*outer, *data.shape[len(tensors) :]]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, new, *places = ins
        _copy(build, source, outs[0])
        with elements(build, shape) as at:
            head: list[Any] = []
            for m, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
                read = tuple(broadcast_indices(at[: len(outer)], tensor.shape, outer))
                head.append(build.let(f"place{m}", _from_start(place[read], data.shape[m])))
            where = [*head, *at[len(outer) :]]
            value = new[tuple(broadcast_indices(at, values.shape, shape))]
            old = outs[0][tuple(where)]
            build.store(outs[0], O.add(old, value) if accumulate else value, where)

    described = [(data.shape, data.dtype)]
    return imperative(described, [data, values, *tensors], emit, "index_put", "index_put")


def slice_scatter(data: Tensor, src: Tensor, start: Any, end: Any, step: int, axis: int) -> Tensor:
    """data with `[start:end:step]` along an axis replaced by src."""
    axis = normalize_axis(axis, data.ndim)

    def body(*at: Any) -> PrimExpr:
        index = at[axis]
        offset = O.subtract(index, start)
        checks = [O.less_equal(start, index), O.less(index, end)]
        if step != 1:
            checks.append(O.equal(O.floormod(offset, step), 0))
        inner = [*at[:axis], O.floordiv(offset, step), *at[axis + 1 :]]
        return I.if_then_else(I.all(*checks), src(*inner), data(*at))

    return named(data.shape, body, "slice_scatter", "injective")
