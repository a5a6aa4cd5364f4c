"""Tensors with parts of them set, and places counted in other ways."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import int_list, normalize_axes, normalize_axis, product
from relax_mlir.topi.imperative import every

__all__ = [
    "expand_like", "matrix_set_diag", "shape", "sliding_window", "sparse_to_dense", "strided_set",
    "tensor_size", "unravel_index",
]  # fmt: skip

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def shape(array: Tensor, dtype: object = "int32") -> Tensor:
    """The sizes of a tensor, as a tensor."""

    def body(i: Any) -> PrimExpr:
        found: PrimExpr = O.const(0, dtype)
        for axis, size in enumerate(array.shape):
            found = O.select(O.equal(i, axis), O.cast(dtype, size), found)
        return found

    return compute([array.ndim], body, "T_shape", "injective")


def tensor_size(array: Tensor, dtype: object = "int32") -> Tensor:
    """The number of elements, as a tensor of no dimensions."""
    return compute([], lambda: O.cast(dtype, product(array.shape)), "tensor_size", "injective")


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Tensor:
    """`a` with the dimensions `axis` of another tensor put in, along which it repeats."""
    new = normalize_axes(axis, shape_like.ndim)
    if a.ndim + len(new) != shape_like.ndim:
        raise Error(f"expand_like: {a.ndim} axes and {len(new)} more are not {shape_like.ndim}")
    kept = [i for i in range(shape_like.ndim) if i not in new]
    return compute(shape_like.shape, lambda *i: a(*[i[k] for k in kept]), "expand_like")


def unravel_index(indices: Tensor, shape: Tensor) -> Tensor:
    """Flat positions as coordinates: (dimensions, *indices.shape)."""
    (rank,) = int_list(shape.shape[0])

    def body(axis: Any, *i: Any) -> PrimExpr:
        rest, found = indices(*i), O.const(0, indices.dtype)
        for dim in range(rank - 1, -1, -1):
            size = O.cast(indices.dtype, shape(dim))
            own = O.floormod(rest, size) if dim else rest
            found = O.select(O.equal(axis, dim), own, found)
            rest = O.floordiv(rest, size)
        return found

    return compute([rank, *indices.shape], body, "unravel_index", "injective")


def sliding_window(data: Tensor, axis: int, window_shape: Sequence[int],
                   strides: Sequence[int]) -> Tensor:  # fmt: skip
    """Windows over the dimensions from `axis` on: (leading, windows ..., elements of a window)."""
    at = normalize_axis(axis, data.ndim)
    sizes, steps = int_list(list(window_shape)), int_list(list(strides))
    if not len(sizes) == len(steps) == data.ndim - at:
        raise Error(f"sliding_window: {data.ndim - at} sizes and strides, given {sizes}, {steps}")
    counts = [
        simplify(O.add(O.floordiv(O.subtract(size, window), step), 1))
        for size, window, step in zip(data.shape[at:], sizes, steps, strict=True)
    ]

    def body(*i: Any) -> PrimExpr:
        windows, taps = i[at : at + len(sizes)], i[at + len(sizes) :]
        entries = zip(windows, steps, taps, strict=True)
        return data(*i[:at], *[O.add(O.multiply(w, s), t) for w, s, t in entries])

    return compute([*data.shape[:at], *counts, *sizes], body, "sliding_window", "injective")


def strided_set(a: Tensor, v: Tensor, begin: Tensor, end: Tensor,
                strides: Tensor | None = None) -> Tensor:  # fmt: skip
    """A copy of `a` with a[begin:end:strides] = v; each a tensor of one number a dimension, those
    left out taken whole.  Negative begins and ends count from the end."""
    given = int_list(begin.shape[0])[0]

    def body(*i: Any) -> PrimExpr:
        checks: list[PrimExpr] = []
        source: list[PrimExpr] = []
        for axis, at in enumerate(i):
            if axis >= given:
                source.append(at)
                continue
            size, place = O.cast("int64", a.shape[axis]), O.cast("int64", at)
            step = O.const(1, "int64") if strides is None else O.cast("int64", strides(axis))
            low, high = (_from_end(O.cast("int64", x(axis)), size) for x in (begin, end))
            forward = O.less(O.const(0, "int64"), step)
            moved = O.select(forward, O.subtract(place, low), O.subtract(low, place))
            size_of_step = O.max(step, O.subtract(O.const(0, "int64"), step))
            before_end = O.select(forward, O.less(place, high), O.less(high, place))
            checks += [O.less_equal(0, moved), before_end]
            checks.append(O.equal(O.floormod(moved, size_of_step), 0))
            source.append(O.floordiv(moved, size_of_step))
        if not checks:
            return v(*source)
        return I.if_then_else(I.all(*checks), v(*source), a(*i))

    return compute(a.shape, body, "strided_set", "injective")


def _from_end(place: PrimExpr, size: PrimExpr) -> PrimExpr:
    return O.select(O.less(place, 0), O.add(place, size), place)


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: Any = 0,
                    align: str = "RIGHT_LEFT") -> Tensor:  # fmt: skip
    """A copy of matrices with diagonals replaced: number k, or all of (first, last).

    diagonal: (..., length), or (..., diagonals, longest) from the last to the first.  `align` says
    at which end shorter ones above and below the main diagonal are filled up.
    """
    if align not in _ALIGNMENTS:
        raise Error(f"matrix_set_diag: align is one of {', '.join(_ALIGNMENTS)}, not {align}")
    several = isinstance(k, (list, tuple)) and len(k) == 2
    low, high = int_list(list(k)) if several else int_list([k, k])
    rows, columns = data.shape[-2:]
    above, below = align.split("_")
    longest = diagonal.shape[-1]

    def body(*i: Any) -> PrimExpr:
        *outer, row, column = i
        number = O.subtract(column, row)
        place = O.select(O.less(number, 0), column, row)
        if high == low:
            return I.if_then_else(O.equal(number, low), diagonal(*outer, place), data(*i))
        length = O.min(
            O.add(columns, O.min(O.subtract(0, number), 0)), O.add(rows, O.min(number, 0))
        )
        room = O.subtract(longest, length)
        zero = O.const(0, room.dtype)
        skipped = O.select(
            O.less_equal(0, number),
            room if above == "RIGHT" else zero,
            room if below == "RIGHT" else zero,
        )
        value = diagonal(*outer, O.subtract(high, number), O.add(place, skipped))
        inside = I.all(O.less_equal(low, number), O.less_equal(number, high))
        return I.if_then_else(inside, value, data(*i))

    return compute(data.shape, body, "matrix_set_diag", "injective")


def sparse_to_dense(sparse_indices: Tensor, output_shape: Sequence[Any], sparse_values: Tensor,
                    default_value: Any = 0) -> Tensor:  # fmt: skip
    """A tensor of `default_value` with values at places: indices of no dimensions (one place), one
    (places along a line) or (places, dimensions).  Of equal places the last one holds."""
    sizes = [as_expr(size) for size in output_shape]
    flat = sparse_indices.ndim < 2
    if flat and len(sizes) != 1:
        raise Error(f"sparse_to_dense: {len(sizes)} dimensions need indices for each of them")

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        places, values = ins
        with ExitStack() as nest:
            at = every(build, outs[0].shape, nest, "i")
            build.store(outs[0], O.const(default_value, sparse_values.dtype), at)
        with ExitStack() as nest:
            number = every(build, places.shape[: min(places.ndim, 1)], nest, "n")
            target = [places[number]] if flat else [
                places[(*number, axis)] for axis in range(len(sizes))
            ]  # fmt: skip
            wanted = [O.cast("int64", index) for index in target]
            low = [O.less_equal(0, place) for place in wanted]
            high = [O.less(place, size) for place, size in zip(wanted, sizes, strict=True)]
            nest.enter_context(build.if_(I.all(*low, *high)))
            value = values[number] if values.ndim else values[()]
            build.store(outs[0], value, wanted)

    inputs = [sparse_indices, sparse_values]
    return imperative([(sizes, sparse_values.dtype)], inputs, emit, "sparse_to_dense")
