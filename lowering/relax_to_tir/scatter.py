"""Legalisation of scatter_elements, scatter_nd and index_put: a copy, then updates in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir import te
from relax_mlir.lowering.relax_to_tir.loops import every
from relax_mlir.lowering.relax_to_tir.rows import constant, is_one, legalize_loops
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "mean": lambda old, new: old + new,
    "max": O.max,
    "min": O.min,
}


def _copy(build: PrimFuncBuilder, data: Buffer, out: Buffer) -> None:
    with ExitStack() as nest:
        place = every(build, data.shape, nest, "c")
        build.store(out, data[place], place)


def _from_end(index: Any, size: Any) -> Any:
    index = index.astype("int64")
    return te.if_then_else(index < 0, index + size, index)


class _Updates:
    """Writes updates into `out`; for a mean it counts them, and divides at the end."""

    def __init__(self, build: PrimFuncBuilder, out: Buffer, reduction: str):
        self.build, self.out, self.reduction = build, out, reduction
        self.counts: Buffer | None = None
        if reduction == "mean":
            self.counts = build.alloc_buffer("counts", list(out.shape), "int64")
            with ExitStack() as nest:
                place = every(build, out.shape, nest, "c")
                build.store(self.counts, O.const(1, "int64"), place)

    def put(self, value: Any, place: tuple[Any, ...]) -> None:
        """Combine a value with the element there; a place outside is left out."""
        sizes = zip(place, self.out.shape, strict=True)
        inside = [c for index, size in sizes for c in (index >= 0, index < size)]
        with self.build.if_(te.all(*inside)):
            self.build.store(self.out, COMBINE[self.reduction](self.out[place], value), place)
            if self.counts is not None:
                self.build.store(self.counts, self.counts[place] + 1, place)

    def finish(self) -> None:
        if self.counts is None:
            return
        with ExitStack() as nest:
            place = every(self.build, self.out.shape, nest, "c")
            count = self.counts[place].astype(self.out.dtype)
            self.build.store(self.out, self.out[place] / count, place)


@legalize_loops("scatter_elements")
def _scatter_elements(
    build: PrimFuncBuilder,
    data: Buffer,
    indices: Buffer,
    updates: Buffer,
    out: Buffer,
    *,
    axis: int,
    reduction: str,
) -> None:
    at = axis % data.ndim
    _copy(build, data, out)
    writer = _Updates(build, out, reduction)
    with ExitStack() as nest:
        place = every(build, indices.shape, nest, "i")
        chosen = build.let("chosen", _from_end(indices[place], data.shape[at]))
        writer.put(updates[place], (*place[:at], chosen, *place[at + 1 :]))
    writer.finish()


@legalize_loops("scatter_nd")
def _scatter_nd(
    build: PrimFuncBuilder,
    data: Buffer,
    indices: Buffer,
    updates: Buffer,
    out: Buffer,
    *,
    reduction: str,
) -> None:
    width = constant(indices.shape[-1])
    rank = indices.ndim - 1
    _copy(build, data, out)
    writer = _Updates(build, out, reduction)
    with ExitStack() as nest:
        place = every(build, updates.shape, nest, "i")
        chosen = [
            build.let(f"at{k}", _from_end(indices[(*place[:rank], k)], data.shape[k]))
            for k in range(width)
        ]
        writer.put(updates[place], (*chosen, *place[rank:]))
    writer.finish()


@legalize_loops("index_put")
def _index_put(
    build: PrimFuncBuilder,
    data: Buffer,
    indices: Sequence[Buffer],
    values: Buffer,
    out: Buffer,
    *,
    accumulate: bool,
) -> None:
    shape = _broadcast([list(index.shape) for index in indices])
    _copy(build, data, out)
    writer = _Updates(build, out, "add" if accumulate else "update")
    rest = list(data.shape[len(indices) :])
    with ExitStack() as nest:
        place = every(build, [*shape, *rest], nest, "i")
        chosen = [
            build.let(f"at{k}", _from_end(index[_own(index, place[: len(shape)])], data.shape[k]))
            for k, index in enumerate(indices)
        ]
        writer.put(values[_own(values, place)], (*chosen, *place[len(shape) :]))


def _broadcast(shapes: Sequence[Sequence[Any]]) -> list[Any]:
    result: list[Any] = []
    for i in range(1, max(len(shape) for shape in shapes) + 1):
        sizes = [shape[-i] for shape in shapes if len(shape) >= i]
        result.insert(0, next((size for size in sizes if not is_one(size)), sizes[0]))
    return result


def _own(buffer: Buffer, place: Sequence[Any]) -> tuple[Any, ...]:
    """The indices of a buffer that broadcasts to the loops."""
    tail = place[len(place) - buffer.ndim :]
    return tuple(
        O.const(0, "int64") if is_one(size) else i
        for size, i in zip(buffer.shape, tail, strict=True)
    )
