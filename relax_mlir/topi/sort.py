"""Sorting along an axis, by a stable bottom-up merge sort of every row.  NaN counts as largest."""

from __future__ import annotations

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
from relax_mlir.topi.common import as_int, normalize_axis
from relax_mlir.topi.imperative import Row, elements, rows


def _before(a: PrimExpr, b: PrimExpr, ascending: bool) -> PrimExpr:
    """Whether b belongs strictly before a."""
    small, large = (b, a) if ascending else (a, b)
    less = O.less(small, large)
    if not dtypes.is_float(a.dtype):
        return less
    return I.any(less, I.all(I.isnan(large), O.logical_not(I.isnan(small))))


class _MergeSort:
    """Sorts the positions 0 .. n-1 of a row by the values there, in two buffers of positions."""

    def __init__(self, build: PrimFuncBuilder, source: Buffer, size: PrimExpr, ascending: bool):
        self._build, self._source = build, source
        self._size = O.cast("int32", size)
        self._ascending = ascending
        self.order = build.alloc_buffer("order", [size], "int32")
        self._merged = build.alloc_buffer("merged", [size], "int32")
        self._width = build.alloc_buffer("width", [1], "int32", "local")
        self._left = build.alloc_buffer("left", [1], "int32", "local")
        self._right = build.alloc_buffer("right", [1], "int32", "local")

    def sort(self, row: Row) -> None:
        build, size = self._build, self._size
        with build.for_("serial", 0, size, "p") as p:
            build.store(self.order, p, [p])
        build.store(self._width, 1, [0])
        with build.while_(O.less(self._width[0], size)):
            width = build.let("run", self._width[0])
            pairs = O.ceildiv(size, O.multiply(width, 2))
            with build.for_("serial", 0, pairs, "pair") as pair:
                self._merge(row, pair, width)
            with build.for_("serial", 0, size, "p") as p:
                build.store(self.order, self._merged[p], [p])
            build.store(self._width, O.multiply(width, 2), [0])

    def _merge(self, row: Row, pair: PrimExpr, width: PrimExpr) -> None:
        build, size = self._build, self._size
        low = build.let("low", O.multiply(O.multiply(pair, width), 2))
        middle = build.let("middle", O.min(O.add(low, width), size))
        high = build.let("high", O.min(O.add(middle, width), size))
        build.store(self._left, low, [0])
        build.store(self._right, middle, [0])
        with build.for_("serial", low, O.subtract(high, low), "out") as out:
            left, right = self._left[0], self._right[0]
            a = build.let("a", self.order[O.min(left, O.subtract(middle, 1))])
            b = build.let("b", self.order[O.min(right, O.subtract(high, 1))])
            left_value, right_value = (self._source[tuple(row(at))] for at in (a, b))
            take_right = I.any(
                O.greater_equal(left, middle),
                I.all(O.less(right, high), _before(left_value, right_value, self._ascending)),
            )
            with build.if_(take_right):
                build.store(self._merged, b, [out])
                build.store(self._right, O.add(self._right[0], 1), [0])
            with build.else_():
                build.store(self._merged, a, [out])
                build.store(self._left, O.add(self._left[0], 1), [0])


def _sorted(
    data: Tensor, axis: int, is_ascend: bool, outputs: list[tuple[Any, Any, bool]], name: str
) -> Any:
    """outputs: (size along the axis, dtype, whether values rather than positions) of each."""
    axis = normalize_axis(axis, data.ndim)
    shapes = [[*data.shape[:axis], size, *data.shape[axis + 1 :]] for size, _, _ in outputs]

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        with rows(build, data.shape, axis) as row, build.block(f"{name}_row"):
            merge = _MergeSort(build, ins[0], data.shape[axis], is_ascend)
            merge.sort(row)
            for target, (size, dtype, values) in zip(outs, outputs, strict=True):
                with build.for_("serial", 0, size, "k") as k:
                    at = merge.order[k]
                    value = ins[0][tuple(row(at))] if values else O.cast(dtype, at)
                    build.store(target, value, row(k))

    described = [(s, d) for s, (_, d, _) in zip(shapes, outputs, strict=True)]
    return imperative(described, [data], emit, name, name)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements in order along an axis."""
    size = data.shape[normalize_axis(axis, data.ndim)]
    return _sorted(data, axis, is_ascend, [(size, data.dtype, True)], "sort")


def argsort(data: Tensor, valid_count: Any = None, axis: int = -1, is_ascend: bool = True,
            dtype: object = "float32") -> Tensor:  # fmt: skip
    """The positions that sort an axis; equal elements keep their order."""
    if valid_count is not None:
        raise Error("argsort: valid_count is not supported; slice the tensor first")
    size = data.shape[normalize_axis(axis, data.ndim)]
    return _sorted(data, axis, is_ascend, [(size, dtype, False)], "argsort")


def topk(data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both",
         is_ascend: bool = False, dtype: object = "int64") -> Any:  # fmt: skip
    """The k largest (smallest) elements along an axis, in order, and their positions.

    ret_type: "both", "values" or "indices".  k < 1 takes all.
    """
    if ret_type not in ("both", "values", "indices"):
        raise Error(f"topk: ret_type must be both, values or indices, given {ret_type!r}")
    size = data.shape[normalize_axis(axis, data.ndim)]
    known, whole = as_int(k), as_int(size)
    if known is not None and known < 1:
        k = size
    elif known is not None and whole is not None and known > whole:
        raise Error(f"topk: {known} of {whole} elements")
    wanted = {
        "values": [(k, data.dtype, True)],
        "indices": [(k, dtype, False)],
        "both": [(k, data.dtype, True), (k, dtype, False)],
    }
    return _sorted(data, axis, is_ascend, wanted[ret_type], "topk")


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False,
                 out_dtype: object = "int64") -> Tensor:  # fmt: skip
    """Where each value would be inserted into a sorted row (the last axis) to keep it sorted.

    A one-dimensional sequence serves all values; otherwise the leading axes agree.
    """
    shared = sorted_sequence.ndim == 1
    size = O.cast("int32", sorted_sequence.shape[-1])

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        sequence, wanted = ins
        with elements(build, values.shape, parallel=True) as at, build.block("binary_search"):
            low = build.alloc_buffer("low", [1], "int32", "local")
            high = build.alloc_buffer("high", [1], "int32", "local")
            build.store(low, 0, [0])
            build.store(high, size, [0])
            with build.while_(O.less(low[0], high[0])):
                middle = build.let("middle", O.floordiv(O.add(low[0], high[0]), 2))
                head = [] if shared else at[:-1]
                found, value = sequence[(*head, middle)], wanted[tuple(at)]
                goes_right = O.less_equal(found, value) if right else O.less(found, value)
                with build.if_(goes_right):
                    build.store(low, O.add(middle, 1), [0])
                with build.else_():
                    build.store(high, middle, [0])
            build.store(outs[0], O.cast(out_dtype, low[0]), at)

    return imperative([(values.shape, out_dtype)], [sorted_sequence, values], emit, "searchsorted")
