"""Legalisation of sort, argsort, topk and median: a stable bottom-up merge sort of indices."""

from __future__ import annotations

from typing import Any

from relax_mlir import te
from relax_mlir.dialects import dtypes
from relax_mlir.lowering.relax_to_tir.loops import Lines, flattened, lines
from relax_mlir.lowering.relax_to_tir.rows import legalize_loops
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import IntImm, PrimExpr

SELECTED = 64
"""Up to this many chosen elements are kept sorted by insertion; more need a whole sort."""


def comes_before(a: PrimExpr, b: PrimExpr, descending: bool) -> PrimExpr:
    """True when a comes strictly before b; NaN counts as the largest value."""
    less = a > b if descending else a < b
    if not dtypes.is_float(a.dtype):
        return less
    first, last = (a, b) if descending else (b, a)
    return te.any(less, te.all(te.isnan(first), O.logical_not(te.isnan(last))))


class MergeSort:
    """Sorts the indices of one line of a buffer at a time; NaN counts as the largest value."""

    def __init__(self, build: PrimFuncBuilder, data: Buffer, size: PrimExpr, descending: bool):
        self.build = build
        self.data = data
        self.size = size
        self.descending = descending
        self.order = build.alloc_buffer("order", [size], "int64")
        """The indices of the line's elements, sorted once `sort` has been written."""
        self.merged = build.alloc_buffer("merged", [size], "int64")
        # The width of sorted runs, the start of a pair of runs, and a place in each run.
        self.state = build.alloc_buffer("state", [4], "int64")

    def sort(self, line: Lines) -> None:
        build, order, state, size = self.build, self.order, self.state, self.size
        with build.for_("serial", 0, size, "i", "int64") as i:
            build.store(order, i, [i])
        build.store(state, O.const(1, "int64"), [0])
        with build.while_(state[0] < size):
            build.store(state, O.const(0, "int64"), [1])
            with build.while_(state[1] < size):
                self._merge(line)
                build.store(state, state[1] + state[0] * 2, [1])
            with build.for_("serial", 0, size, "i", "int64") as i:
                build.store(order, self.merged[i], [i])
            build.store(state, state[0] * 2, [0])

    def _merge(self, line: Lines) -> None:
        """Merge the runs [start, middle) and [middle, end)."""
        build, order, state, size = self.build, self.order, self.state, self.size
        middle = O.min(state[1] + state[0], size)
        end = O.min(state[1] + state[0] * 2, size)
        build.store(state, state[1], [2])
        build.store(state, middle, [3])
        with build.for_("serial", 0, end - state[1], "t", "int64") as t:
            # Places behind the last element are not compared, only kept readable.
            left = order[O.min(state[2], size - 1)]
            right = order[O.min(state[3], size - 1)]
            behind = comes_before(
                self.data[line.at(right)], self.data[line.at(left)], self.descending
            )
            take_right = te.all(state[3] < end, te.any(state[2] >= middle, behind))
            with build.if_(take_right):
                build.store(self.merged, order[state[3]], [state[1] + t])
                build.store(state, state[3] + 1, [3])
            with build.else_():
                build.store(self.merged, order[state[2]], [state[1] + t])
                build.store(state, state[2] + 1, [2])


def _sorted_lines(
    build: PrimFuncBuilder, data: Buffer, axis: int, descending: bool, write: Any
) -> None:
    """For every line, sort its indices and let `write(line, order)` use them."""
    sorter = MergeSort(build, data, data.shape[axis % data.ndim], descending)

    def body(line: Lines) -> None:
        sorter.sort(line)
        write(line, sorter.order)

    lines(build, data, axis, body)


@legalize_loops("sort")
def _sort(
    build: PrimFuncBuilder, data: Buffer, out: Buffer, *, axis: int, descending: bool
) -> None:
    def write(line: Lines, order: Buffer) -> None:
        with build.for_("serial", 0, line.size, "i", "int64") as i:
            build.store(out, data[line.at(order[i])], line.at(i))

    _sorted_lines(build, data, axis, descending, write)


@legalize_loops("argsort")
def _argsort(
    build: PrimFuncBuilder, data: Buffer, out: Buffer, *, axis: int, descending: bool, dtype: str
) -> None:
    def write(line: Lines, order: Buffer) -> None:
        with build.for_("serial", 0, line.size, "i", "int64") as i:
            build.store(out, order[i], line.at(i))

    _sorted_lines(build, data, axis, descending, write)


@legalize_loops("topk")
def _topk(
    build: PrimFuncBuilder,
    data: Buffer,
    *outputs: Buffer,
    k: int,
    axis: int,
    ret_type: str,
    largest: bool,
    dtype: str,
) -> None:
    values = outputs[0] if ret_type != "indices" else None
    indices = outputs[-1] if ret_type != "values" else None
    chosen = outputs[0].shape[axis % data.ndim]

    def write(line: Lines, order: Buffer) -> None:
        with build.for_("serial", 0, chosen, "i", "int64") as i:
            if values is not None:
                build.store(values, data[line.at(order[i])], line.at(i))
            if indices is not None:
                build.store(indices, order[i], line.at(i))

    if isinstance(chosen, IntImm) and chosen.value <= SELECTED:
        _selected_lines(build, data, axis, chosen.value, largest, write)
    else:
        _sorted_lines(build, data, axis, largest, write)


def _selected_lines(
    build: PrimFuncBuilder, data: Buffer, axis: int, count: int, largest: bool, write: Any
) -> None:
    """For every line, find the first `count` indices of the sorted order."""
    order = build.alloc_buffer("order", [count], "int64")
    place = build.alloc_buffer("place", [1], "int64")

    def body(line: Lines) -> None:
        with build.for_("serial", 0, count, "i", "int64") as i:
            build.store(order, O.const(0, "int64"), [i])
        with build.for_("serial", 0, line.size, "i", "int64") as i:
            value = data[line.at(i)]
            last = data[line.at(order[count - 1])]
            with build.if_(te.any(i < count, comes_before(value, last, largest))):
                build.store(place, O.min(i, O.const(count - 1, "int64")), [0])
                before = order[O.max(place[0] - 1, O.const(0, "int64"))]
                moves = comes_before(value, data[line.at(before)], largest)
                with build.while_(te.all(place[0] > 0, moves)):
                    build.store(order, order[place[0] - 1], [place[0]])
                    build.store(place, place[0] - 1, [0])
                build.store(order, i, [place[0]])
        write(line, order)

    lines(build, data, axis, body)


@legalize_loops("median")
def _median(
    build: PrimFuncBuilder, data: Buffer, *outputs: Buffer, axis: Any, keepdims: bool
) -> None:
    """The lower of the two middle elements, as torch.median."""
    axes = [axis] if isinstance(axis, int) else axis
    if not axes:
        _median_of_all(build, data, outputs[0])
        return
    at = axes[0] % data.ndim

    def write(line: Lines, order: Buffer) -> None:
        middle = order[(line.size - 1) // 2]
        place = line.at(0) if keepdims else line.outer
        build.store(outputs[0], data[line.at(middle)], place)
        build.store(outputs[1], middle, place)

    _sorted_lines(build, data, at, False, write)


def _median_of_all(build: PrimFuncBuilder, data: Buffer, out: Buffer) -> None:
    count: Any = O.const(1, "int64")
    for size in data.shape:
        count = count * size
    flat = build.alloc_buffer("flat", [count], data.dtype)
    with build.for_("serial", 0, count, "i", "int64") as i:
        build.store(flat, data[flattened(data, i)], [i])

    def write(line: Lines, order: Buffer) -> None:
        build.store(out, flat[order[(count - 1) // 2]], [0] * out.ndim)

    _sorted_lines(build, flat, 0, False, write)
