"""Writing elements at computed places.  What points outside the data is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
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
from relax_mlir.topi.imperative import copy, every

_REDUCTIONS: dict[str, Callable[[Any, Any], PrimExpr]] = {
    "update": lambda old, new: new,
    "add": O.add,
    "mul": O.multiply,
    "mean": O.add,
    "min": O.min,
    "max": O.max,
}


def _check_reduction(reduction: str, what: str) -> None:
    if reduction not in _REDUCTIONS:
        names = ", ".join(_REDUCTIONS)
        raise Error(f"{what}: reduction must be one of {names}, given {reduction!r}")


def _from_start(index: PrimExpr, size: Any) -> PrimExpr:
    """A negative index counts from the end."""
    index = O.cast("int64", index)
    return O.select(O.less(index, 0), O.add(index, size), index)


class _Updates:
    """Writes updates into `out`; for a mean it counts them, and divides at the end."""

    def __init__(self, build: PrimFuncBuilder, out: Buffer, reduction: str):
        self._build, self._out, self._reduction = build, out, reduction
        self._counts: Buffer | None = None
        if reduction == "mean":
            self._counts = build.alloc_buffer("counts", list(out.shape), "int64")
            with ExitStack() as nest:
                place = every(build, out.shape, nest, "c")
                build.store(self._counts, O.const(1, "int64"), place)

    def put(self, value: Any, place: tuple[Any, ...]) -> None:
        """Combine a value with the element there; a place outside is left out."""
        build, out, counts = self._build, self._out, self._counts
        inside: list[PrimExpr] = []
        for index, size in zip(place, out.shape, strict=True):
            inside += [O.less_equal(0, index), O.less(index, size)]
        with build.if_(I.all(*inside)):
            build.store(out, _REDUCTIONS[self._reduction](out[place], value), place)
            if counts is not None:
                build.store(counts, O.add(counts[place], 1), place)

    def finish(self) -> None:
        if self._counts is None:
            return
        with ExitStack() as nest:
            place = every(self._build, self._out.shape, nest, "c")
            count = O.cast(self._out.dtype, self._counts[place])
            self._build.store(self._out, O.div(self._out[place], count), place)


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """data with `updates[i, j]` combined into `[indices[i, j], j]` (for axis 0)."""
    axis = normalize_axis(axis, data.ndim)
    _check_reduction(reduction, "scatter_elements")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, places, values = ins
        copy(build, source, outs[0])
        writer = _Updates(build, outs[0], reduction)
        with ExitStack() as nest:
            at = every(build, indices.shape, nest, "i")
            place = build.let("place", _from_start(places[at], data.shape[axis]))
            writer.put(values[at], (*at[:axis], place, *at[axis + 1 :]))
        writer.finish()

    described = [(data.shape, data.dtype)]
    return imperative(
        described, [data, indices, updates], emit, "scatter_elements_generic", "scatter_elements"
    )


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """data with slices `updates[:, ...]` combined where the columns of `indices` (M, ...) say."""
    depth = as_int(indices.shape[0])
    _check_reduction(mode, "scatter_nd")
    if depth is None or depth > data.ndim:
        raise Error(f"scatter_nd: {indices.shape[0]} indices into {data.ndim} dimensions")
    outer = indices.ndim - 1

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        source, places, values = ins
        copy(build, source, outs[0])
        writer = _Updates(build, outs[0], mode)
        with ExitStack() as nest:
            at = every(build, updates.shape, nest, "i")
            head = [
                build.let(f"place{m}", _from_start(places[(m, *at[:outer])], data.shape[m]))
                for m in range(depth)
            ]
            writer.put(values[at], (*head, *at[outer:]))
        writer.finish()

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
        copy(build, source, outs[0])
        writer = _Updates(build, outs[0], "add" if accumulate else "update")
        with ExitStack() as nest:
            at = every(build, shape, nest, "i")
            head: list[Any] = []
            for m, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
                read = tuple(broadcast_indices(at[: len(outer)], tensor.shape, outer))
                head.append(build.let(f"place{m}", _from_start(place[read], data.shape[m])))
            value = new[tuple(broadcast_indices(at, values.shape, shape))]
            writer.put(value, (*head, *at[len(outer) :]))

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


def take_backward(
    output_grad: Tensor, data: Tensor, indices: Tensor, axis: int | None = None
) -> Tensor:
    """The gradient of take with respect to its data: what is taken often gets all of it."""
    at = 0 if axis is None else normalize_axis(axis, data.ndim)
    rank = indices.ndim

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        grads, _, places = ins
        with ExitStack() as nest:
            build.store(outs[0], O.const(0, data.dtype), every(build, data.shape, nest, "z"))
        writer = _Updates(build, outs[0], "add")
        with ExitStack() as nest:
            i = every(build, output_grad.shape, nest, "i")
            chosen = O.cast("int64", places[i[at : at + rank]])
            last = O.subtract(O.cast("int64", data.shape[at]), 1)
            limited = build.let("place", O.max(O.min(chosen, last), O.const(0, "int64")))
            writer.put(grads[i], (*i[:at], limited, *i[at + rank :]))

    described = [(data.shape, data.dtype)]
    return imperative(described, [output_grad, data, indices], emit, "take_backward")
