"""Converters for reductions, of whole dimensions and of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation
from relax_mlir.relax.frontend.stablehlo.ops_shape import padded, padded_element
from relax_mlir.relax.frontend.stablehlo.regions import reducer_of
from relax_mlir.relax.frontend.stablehlo.values import equal_dims

_WINDOW_LIMIT = 1024
"""Elements of the largest window of a computation that is no plain reduction."""


@dataclass(frozen=True)
class Reducer:
    """A plain reduction: Relax's operator for whole dimensions, the one for two tensors, and te's
    function for windows."""

    whole: str
    pair: str
    te_name: str

    def identity(self, dtype: str) -> Any:
        """The value that changes nothing."""
        if self.pair in ("add", "multiply"):
            return 0 if self.pair == "add" else 1
        lowest = self.pair == "maximum"
        if dtypes.is_float(dtype):
            return -math.inf if lowest else math.inf
        limits = np.iinfo(dtype)
        return limits.min if lowest else limits.max


_REDUCERS = {
    "add": Reducer("sum", "add", "sum"),
    "multiply": Reducer("prod", "multiply", "prod"),
    "maximum": Reducer("max", "maximum", "max"),
    "minimum": Reducer("min", "minimum", "min"),
}
_OF_TRUTH = {"or": "maximum", "and": "minimum", "add": "maximum", "multiply": "minimum"}
"""What truth values are reduced by, as the integers 0 and 1."""


def _reducer(operation: Operation, dtype: str) -> Reducer | None:
    name = reducer_of(operation.region(0)) or ""
    return _REDUCERS.get(_OF_TRUTH.get(name, name) if dtype == "bool" else name)


# -- whole dimensions ---------------------------------------------------------------------------


def reduce(operation: Operation) -> Any:
    count = len(operation.operands) // 2
    axes = operation.ints("dimensions")
    dtype = operation.result_dtype(0)
    reducer = _reducer(operation, dtype) if count == 1 else None
    if reducer is not None:
        return _reduce_plainly(operation, reducer, axes, dtype)
    results = _reduce_by_halves(operation, operation.tensors(0, count), axes)
    initial = operation.operands[count:]
    combined = operation.apply(0, [*initial, *results])
    return combined[0] if count == 1 else combined


def _reduce_plainly(operation: Operation, reducer: Reducer, axes: list[int], dtype: str) -> Any:
    ops, importer = operation.ops, operation.importer
    x, initial, counted = operation.tensor(0), operation.scalar(1), dtype
    if dtype == "bool":
        x, counted = ops.astype(x, "int8"), "int8"
        initial = None if initial is None else int(initial)
    result = getattr(ops, reducer.whole)(x, axis=axes) if axes else x
    neutral = (int(reducer.pair == "minimum"),) if dtype == "bool" else (reducer.identity(dtype),)
    if initial is None or initial not in neutral:
        start = importer.expr(operation.operands[1])
        start = ops.astype(start, counted) if dtype == "bool" else start
        result = getattr(ops, reducer.pair)(result, start)
    return ops.not_equal(result, importer.scalar_like(0, result)) if dtype == "bool" else result


def _reduce_by_halves(operation: Operation, values: list[Any], axes: list[int]) -> list[Any]:
    """Neighbours are combined by the region until one is left: it works on whole tensors."""
    dims = operation.dims()
    kept = [axis for axis in range(len(dims)) if axis not in axes]
    sizes = [dims[axis] for axis in axes]
    if not all(isinstance(size, int) for size in sizes):
        operation.refuse(f"this reduction needs known sizes, got {sizes}")
    length = math.prod(int(size) for size in sizes)
    if length == 0:
        operation.refuse("this reduction of no elements")
    kept_dims = [dims[axis] for axis in kept]
    rows = [
        operation.reshape(operation.transpose(x, [*kept, *axes]), [*kept_dims, length])
        for x in values
    ]
    axis = len(kept)
    while length > 1:
        half = length // 2
        pairs = [[_part(operation, x, axis, i, 2 * half, 2) for x in rows] for i in (0, 1)]
        combined = [operation.importer.expr(v) for v in operation.apply(0, [*pairs[0], *pairs[1]])]
        if length % 2:
            last = [_part(operation, x, axis, length - 1, length, 1) for x in rows]
            combined = [
                operation.ops.concat([x, end], axis=axis)
                for x, end in zip(combined, last, strict=True)
            ]
        rows, length = combined, half + length % 2
    return [operation.reshape(x, kept_dims) for x in rows]


def _part(operation: Operation, x: Any, axis: int, begin: int, end: int, step: int) -> Any:
    shape = operation.importer.shape_expr
    return operation.ops.strided_slice(x, [axis], shape([begin]), shape([end]), shape([step]))


# -- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """A window by dimension: sizes, strides, dilation of the data and of the window, padding."""

    sizes: list[int]
    strides: list[int]
    base: list[int]
    dilation: list[int]
    padding: list[tuple[int, int]]

    @staticmethod
    def of(operation: Operation) -> Window:
        sizes = operation.ints("window_dimensions")
        ones = [1] * len(sizes)
        widths = operation.ints("padding", [0] * (2 * len(sizes)))
        return Window(
            sizes,
            operation.ints("window_strides", ones),
            operation.ints("base_dilations", ones),
            operation.ints("window_dilations", ones),
            list(zip(widths[::2], widths[1::2], strict=True)),
        )

    def is_trivial(self, axis: int) -> bool:
        """Whether the window is one element along a dimension, at every one."""
        one = self.sizes[axis] == self.strides[axis] == self.base[axis] == 1
        return one and self.padding[axis] == (0, 0)

    def counts(self, shape: Sequence[Any]) -> list[Any]:
        """The windows along each dimension."""
        rows = zip(
            shape, self.sizes, self.strides, self.base, self.dilation, self.padding, strict=True
        )
        return [
            (size * base - base + 1 + sum(pads) - (window - 1) * dilation - 1) // stride + 1
            for size, window, stride, base, dilation, pads in rows
        ]


def reduce_window(operation: Operation) -> Any:
    window, count = Window.of(operation), len(operation.operands) // 2
    dtype = operation.result_dtype(0)
    reducer = _reducer(operation, dtype) if count == 1 and dtype != "bool" else None
    if reducer is None:
        return _reduce_window_by_region(operation, window, count)
    return _reduce_window_plainly(operation, window, reducer, dtype)


def dynamic_reduce_window(operation: Operation) -> Any:
    """How `jax.export` writes windows on sizes that are left open: what else are attributes are
    operands, and the computation is a function's."""
    (name,) = operation.attr("called_computations") or [""]
    function = operation.importer.functions.get(name)
    body = None if function is None else function.regions[0].blocks[0]
    reducer = None if body is None else _REDUCERS.get(reducer_of(body) or "")
    if reducer is None or len(operation.operands) != 7:
        operation.refuse("only plain reductions of one tensor are supported")
    rows = [operation.known_dims(i, "a window") for i in range(2, 7)]
    sizes, *steps, widths = rows
    padding = list(zip(widths[::2], widths[1::2], strict=True))
    dtype = operation.result_dtype()
    if operation.scalar(1) == reducer.identity(dtype):
        total = _running_total(operation, reducer, dtype, sizes, steps, padding)
        if total is not None:
            return total
    numbers = [[dim for dim in row if isinstance(dim, int)] for row in rows]
    if numbers != rows:
        operation.refuse(f"a window of {sizes}, padded by {padding}")
    sizes, strides, base, dilation, flat = numbers
    pads = list(zip(flat[::2], flat[1::2], strict=True))
    window = Window(sizes, strides, base, dilation, pads)
    return _reduce_window_plainly(operation, window, reducer, dtype)


def _reduce_window_plainly(
    operation: Operation, window: Window, reducer: Reducer, dtype: str
) -> Any:
    neutral = operation.scalar(1) == reducer.identity(dtype)
    if neutral:
        steps = (window.strides, window.base, window.dilation)
        total = _running_total(operation, reducer, dtype, window.sizes, steps, window.padding)
        result = _max_pool(operation, window, reducer, dtype) if total is None else total
        if result is not None:
            return result
    x, initial = operation.tensor(0), operation.tensor(1)
    result = operation.te(_window_elements, x, initial, window, reducer.te_name)
    return result if neutral else getattr(operation.ops, reducer.pair)(result, initial)


def _running_total(
    operation: Operation,
    reducer: Reducer,
    dtype: str,
    sizes: Sequence[Dim],
    steps: Sequence[Sequence[Dim]],
    padding: Sequence[tuple[Dim, Dim]],
) -> Any:
    """The result of windows of all that comes before (or after) an element, None for others.

    `steps` are strides and the dilations of the data and the window, by dimension.
    """
    name = {"add": "cumsum", "multiply": "cumprod"}.get(reducer.pair)
    axes = [axis for axis, size in enumerate(sizes) if not dim_algebra.equal(size, 1)]
    plain = all(dim_algebra.equal(step, 1) for row in steps for step in row)
    if name is None or len(axes) != 1 or not plain:
        return None
    (axis,) = axes
    reach = dim_algebra.subtract(sizes[axis], 1)
    whole = dim_algebra.equal(operation.dims()[axis], sizes[axis])
    expected: list[list[Dim]] = [[0, 0] for _ in sizes]
    for backwards in (False, True):
        expected[axis] = [0, reach] if backwards else [reach, 0]
        fits = all(equal_dims(*pairs) for pairs in zip(expected, padding, strict=True))
        if not whole or not fits:
            continue
        x = operation.tensor(0)
        x = operation.ops.flip(x, axis=axis) if backwards else x
        total = getattr(operation.ops, name)(x, axis=axis, dtype=dtype)
        return operation.ops.flip(total, axis=axis) if backwards else total
    return None


def _max_pool(operation: Operation, window: Window, reducer: Reducer, dtype: str) -> Any:
    """The maximum over one to three dimensions of floats has an operator."""
    rank = len(window.sizes)
    trivial = [i for i in range(rank) if window.is_trivial(i)]
    plain = all(n == 1 for n in window.base) and min(w for p in window.padding for w in p) >= 0
    if reducer.whole != "max" or not dtypes.is_float(dtype) or not plain:
        return None
    if not 3 <= rank <= 5 or len(trivial) < 2:
        return None
    batch, channel = trivial[0], trivial[-1]
    spatial = [i for i in range(rank) if i not in (batch, channel)]
    letters = {batch: "N", channel: "C"} | dict(
        zip(spatial, "DHW"[3 - len(spatial) :], strict=True)
    )
    lows, highs = ([window.padding[i][side] for i in spatial] for side in (0, 1))
    pool = getattr(operation.ops.nn, f"max_pool{len(spatial)}d")
    return pool(
        operation.tensor(0),
        pool_size=[window.sizes[i] for i in spatial],
        strides=[window.strides[i] for i in spatial],
        padding=[*lows, *highs],
        dilation=[window.dilation[i] for i in spatial],
        layout="".join(letters[i] for i in range(rank)),
    )


def _window_elements(data: Any, initial: Any, window: Window, reducer: str) -> Any:
    from relax_mlir import te

    between = [n - 1 for n in window.base]
    axes = [te.reduce_axis((0, size), name=f"w{i}") for i, size in enumerate(window.sizes)]

    def element(*at: Any) -> Any:
        rows = zip(at, window.strides, axes, window.dilation, strict=True)
        places = [place * stride + axis.var * step for place, stride, axis, step in rows]
        value = padded_element(data, initial(), places, window.padding, between)
        return getattr(te, reducer)(value, axis=axes)

    return te.compute(window.counts(data.shape), element, name="reduce_window")


def _reduce_window_by_region(operation: Operation, window: Window, count: int) -> Any:
    """Any computation: the windows' elements, one tensor for each, combined in order."""
    if math.prod(window.sizes) > _WINDOW_LIMIT:
        operation.refuse(f"windows of {window.sizes} with a computation of their own")
    lows, highs = ([pair[side] for pair in window.padding] for side in (0, 1))
    between = [n - 1 for n in window.base]
    values, initial = operation.tensors(0, count), operation.tensors(count)
    values = [
        padded(operation, x, start, lows, highs, between)
        for x, start in zip(values, initial, strict=True)
    ]
    sizes = operation.importer.dims_of(values[0]) or []
    if not all(isinstance(size, int) for size in sizes):
        operation.refuse("windows with a computation of their own need known sizes")
    plain = Window(
        window.sizes, window.strides, [1] * len(sizes), window.dilation, [(0, 0)] * len(sizes)
    )
    counts = plain.counts(sizes)
    results: list[Any] = list(operation.operands[count:])
    for offset in product(*map(range, window.sizes)):
        begin = [o * step for o, step in zip(offset, window.dilation, strict=True)]
        end = [
            b + (n - 1) * stride + 1
            for b, n, stride in zip(begin, counts, window.strides, strict=True)
        ]
        shape = operation.importer.shape_expr
        bounds = [shape(v) for v in (begin, end, window.strides)]
        parts = [operation.ops.strided_slice(x, list(range(len(sizes))), *bounds) for x in values]
        results = operation.apply(0, [*results, *parts])
    return results[0] if count == 1 else results


# -- gradients of pooling -----------------------------------------------------------------------


def select_and_scatter(operation: Operation) -> Any:
    """Adds each element of the source where its window selects: the gradient of pooling.

    One tensor for each place in a window; the place that the selection prefers to those before
    gets the source, which then goes back to where the window lies in the operand.
    """
    if reducer_of(operation.region(1)) != "add" or operation.scalar(2) != 0:
        operation.refuse("only sums of what is selected are supported, starting from zero")
    window, ops = Window.of(operation), operation.ops
    if math.prod(window.sizes) > _WINDOW_LIMIT:
        operation.refuse(f"windows of {window.sizes}")
    source, shape = operation.tensor(1), [int(size) for size in operation.result_shape()]
    offsets = list(product(*map(range, window.sizes)))
    chosen = _chosen(operation, window, offsets, shape)
    zero = operation.importer.scalar_like(0, source)
    total = zero
    for number, offset in enumerate(offsets):
        picked = ops.equal(chosen, operation.importer.constant(number))
        given = ops.where(picked, source, zero)
        total = ops.add(total, _back(operation, given, offset, window, shape))
    return total


def _chosen(
    operation: Operation, window: Window, offsets: Sequence[Sequence[int]], shape: Sequence[int]
) -> Any:
    """Which offset each window selects, the padding aside."""
    importer, ops = operation.importer, operation.ops
    lows, highs = ([pair[side] for pair in window.padding] for side in (0, 1))
    x, inside = operation.tensor(0), importer.constant(np.ones(shape, "bool"))
    x = padded(operation, x, importer.scalar_like(0, x), lows, highs)
    inside = padded(operation, inside, importer.constant(False), lows, highs)
    counts = operation.dims(1)

    def at(offset: Sequence[int]) -> list[Any]:
        return [_at(operation, v, offset, counts, window.strides) for v in (x, inside)]

    best, found = at(offsets[0])
    chosen = ops.where(found, importer.constant(0), importer.constant(-1))
    for number, offset in enumerate(offsets[1:], 1):
        value, valid = at(offset)
        keeps = ops.logical_and(found, importer.expr(operation.apply(0, [best, value])[0]))
        takes = ops.logical_and(valid, ops.logical_not(keeps))
        best = ops.where(takes, value, best)
        chosen = ops.where(takes, importer.constant(number), chosen)
        found = ops.logical_or(found, valid)
    return chosen


def _at(
    operation: Operation, x: Any, offset: Sequence[int], counts: Sequence[Any], strides: Any
) -> Any:
    """The element at an offset in every window."""
    end = [o + (n - 1) * s + 1 for o, n, s in zip(offset, counts, strides, strict=True)]
    bounds = [operation.importer.shape_expr(v) for v in (offset, end, strides)]
    return operation.ops.strided_slice(x, list(range(len(offset))), *bounds)


def _back(
    operation: Operation, x: Any, offset: Sequence[int], window: Window, shape: Sequence[int]
) -> Any:
    """Values of windows where they lie in the operand."""
    counts = operation.dims(1)
    rows = list(zip(offset, window.padding, counts, window.strides, shape, strict=True))
    low = [o - pads[0] for o, pads, _, _, _ in rows]
    high = [size - (o - pads[0] + (int(n) - 1) * stride + 1) for o, pads, n, stride, size in rows]
    zero = operation.importer.scalar_like(0, x)
    return padded(operation, x, zero, low, high, [stride - 1 for stride in window.strides])


CONVERTERS: dict[str, Converter] = {
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
    "stablehlo.select_and_scatter": select_and_scatter,
}
"""By operation; see `operation.Converter`."""
