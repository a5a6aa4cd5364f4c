"""Sorting along an axis.  NaN counts as the largest value; equal elements keep their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.te.operation import imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.common import as_int, normalize_axis, product
from relax_mlir.topi.imperative import Line, every, flattened, lines
from relax_mlir.topi.line_sort import LineSort, key_value

SELECTED = 64
"""Up to this many chosen elements are kept sorted by insertion; more need a whole sort."""

Write = Callable[[Line, Buffer], None]
"""Writes the results of a line, given the buffer of its sorted positions."""


def sorted_lines(
    build: PrimFuncBuilder, data: Buffer, axis: int, descending: bool, write: Write
) -> None:
    """For every line, sort its positions and let `write` use them."""
    sorter = LineSort(build, data.dtype, data.shape[axis % data.ndim], descending)

    def body(line: Line) -> None:
        sorter.sort(line, lambda i: data[line.at(i)])
        write(line, sorter.order)

    lines(build, data, axis, body)


def flat_copy(build: PrimFuncBuilder, data: Buffer) -> tuple[Buffer, PrimExpr]:
    """The elements of a buffer in a new one of one dimension, and how many they are."""
    total = O.cast("int64", product(data.shape))
    flat = build.alloc_buffer("flat", [O.max(total, O.const(1, "int64"))], data.dtype)
    with build.for_("serial", 0, total, "i", "int64") as i:
        build.store(flat, data[flattened(data, i)], [i])
    return flat, total


def _along(data: Tensor, axis: int, size: Any) -> list[Any]:
    return [*data.shape[:axis], size, *data.shape[axis + 1 :]]


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements in order along an axis."""
    axis = normalize_axis(axis, data.ndim)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        sorter = LineSort(build, data.dtype, data.shape[axis], not is_ascend, positions=False)

        def body(line: Line) -> None:
            sorter.sort(line, lambda i: ins[0][line.at(i)])
            with build.for_("serial", 0, line.size, "i", "int64") as i:
                value = key_value(sorter.keys[i], data.dtype, not is_ascend)
                build.store(outs[0], value, line.at(i))

        lines(build, ins[0], axis, body)

    return imperative([(data.shape, data.dtype)], [data], emit, "sort", "sort")


def argsort(data: Tensor, valid_count: Any = None, axis: int = -1, is_ascend: bool = True,
            dtype: object = "float32") -> Tensor:  # fmt: skip
    """The positions that sort an axis; equal elements keep their order."""
    if valid_count is not None:
        raise Error("argsort: valid_count is not supported; slice the tensor first")
    axis = normalize_axis(axis, data.ndim)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def write(line: Line, order: Buffer) -> None:
            with build.for_("serial", 0, line.size, "i", "int64") as i:
                build.store(outs[0], order[i], line.at(i))

        sorted_lines(build, ins[0], axis, not is_ascend, write)

    return imperative([(data.shape, dtype)], [data], emit, "argsort", "argsort")


def topk(data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both",
         is_ascend: bool = False, dtype: object = "int64") -> Any:  # fmt: skip
    """The k largest (smallest) elements along an axis, in order, and their positions.

    ret_type: "both", "values" or "indices".  k < 1 takes all.
    """
    if ret_type not in ("both", "values", "indices"):
        raise Error(f"topk: ret_type must be both, values or indices, given {ret_type!r}")
    axis = normalize_axis(axis, data.ndim)
    size = data.shape[axis]
    known, whole = as_int(k), as_int(size)
    if known is not None and known < 1:
        k, known = size, whole
    elif known is not None and whole is not None and known > whole:
        raise Error(f"topk: {known} of {whole} elements")
    shape = _along(data, axis, k)
    kinds = {"values": [data.dtype], "indices": [dtype], "both": [data.dtype, dtype]}[ret_type]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        values = outs[0] if ret_type != "indices" else None
        indices = outs[-1] if ret_type != "values" else None

        def write(line: Line, order: Buffer) -> None:
            with build.for_("serial", 0, shape[axis], "i", "int64") as i:
                if values is not None:
                    build.store(values, ins[0][line.at(order[i])], line.at(i))
                if indices is not None:
                    build.store(indices, order[i], line.at(i))

        if known is not None and 0 < known <= SELECTED:
            _selected_lines(build, ins[0], axis, known, not is_ascend, write)
        else:
            sorted_lines(build, ins[0], axis, not is_ascend, write)

    return imperative([(shape, kind) for kind in kinds], [data], emit, "topk", "topk")


def _comes_before(a: PrimExpr, b: PrimExpr, descending: bool) -> PrimExpr:
    """True when a comes strictly before b; NaN counts as the largest value."""
    less = O.less(b, a) if descending else O.less(a, b)
    if not dtypes.is_float(a.dtype):
        return less
    first, last = (a, b) if descending else (b, a)
    return I.any(less, I.all(I.isnan(first), O.logical_not(I.isnan(last))))


def _selected_lines(
    build: PrimFuncBuilder, data: Buffer, axis: int, count: int, descending: bool, write: Write
) -> None:
    """For every line, find the first `count` positions of the sorted order."""
    order = build.alloc_buffer("order", [O.const(count, "int64")], "int64")
    place = build.alloc_buffer("place", [O.const(1, "int64")], "int64")

    def body(line: Line) -> None:
        with build.for_("serial", 0, count, "i", "int64") as i:
            build.store(order, O.const(0, "int64"), [i])
        with build.for_("serial", 0, line.size, "i", "int64") as i:
            value = build.let("value", data[line.at(i)])
            last = data[line.at(order[count - 1])]
            with build.if_(I.any(O.less(i, count), _comes_before(value, last, descending))):
                build.store(place, O.min(i, O.const(count - 1, "int64")), [0])
                before = order[O.max(O.subtract(place[0], 1), O.const(0, "int64"))]
                moves = _comes_before(value, data[line.at(before)], descending)
                with build.while_(I.all(O.less(0, place[0]), moves)):
                    build.store(order, order[O.subtract(place[0], 1)], [place[0]])
                    build.store(place, O.subtract(place[0], 1), [0])
                build.store(order, i, [place[0]])
        write(line, order)

    lines(build, data, axis, body)


def median(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Any:
    """The lower of the two middle elements along an axis and its position, as torch.median; without
    an axis the middle element of all."""
    if axis is None:
        return _median_of_all(data, keepdims)
    at = normalize_axis(axis, data.ndim)
    shape = [1 if i == at else s for i, s in enumerate(data.shape) if keepdims or i != at]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        def write(line: Line, order: Buffer) -> None:
            middle = order[O.floordiv(O.subtract(line.size, 1), 2)]
            place = line.at(0) if keepdims else line.outer
            build.store(outs[0], ins[0][line.at(middle)], place)
            build.store(outs[1], middle, place)

        sorted_lines(build, ins[0], at, False, write)

    return imperative([(shape, data.dtype), (shape, "int64")], [data], emit, "median")


def _median_of_all(data: Tensor, keepdims: bool) -> Tensor:
    shape = [O.const(1, "int64")] * data.ndim if keepdims else []

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        flat, total = flat_copy(build, ins[0])
        sorter = LineSort(build, data.dtype, total, False)
        sorter.sort(Line((), 0, total), lambda i: flat[i])
        middle = sorter.order[O.floordiv(O.subtract(total, 1), 2)]
        build.store(outs[0], flat[middle], [0] * len(shape))

    return imperative([(shape, data.dtype)], [data], emit, "median")


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False,
                 out_dtype: object = "int64") -> Tensor:  # fmt: skip
    """Where each value would be inserted into a sorted row (the last axis) to keep it sorted.

    A one-dimensional sequence serves all values; otherwise the leading axes agree.
    """
    shared = sorted_sequence.ndim == 1
    size = O.cast("int64", sorted_sequence.shape[-1])

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        sequence, wanted = ins
        low = build.alloc_buffer("low", [O.const(1, "int64")], "int64")
        high = build.alloc_buffer("high", [O.const(1, "int64")], "int64")
        with ExitStack() as nest:
            at = every(build, values.shape, nest, "i")
            value = build.let("value", wanted[at])
            build.store(low, O.const(0, "int64"), [0])
            build.store(high, size, [0])
            with build.while_(O.less(low[0], high[0])):
                middle = build.let("middle", O.floordiv(O.add(low[0], high[0]), 2))
                found = sequence[(*([] if shared else at[:-1]), middle)]
                passed = O.less_equal(found, value) if right else O.less(found, value)
                with build.if_(passed):
                    build.store(low, O.add(middle, 1), [0])
                with build.else_():
                    build.store(high, middle, [0])
            build.store(outs[0], O.cast(out_dtype, low[0]), at)

    sources: Sequence[Tensor] = [sorted_sequence, values]
    return imperative([(values.shape, out_dtype)], sources, emit, "searchsorted")
