"""Rules of single values: NaN and infinities, halves, quantised numbers, filled tensors, places
that are computed, tensors as sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tests.exec.test_ops_sorting import scatter
from tests.fuzz.graphs import FLOATS, HALVES, INTEGERS, Graph, Value, rule
from tests.fuzz.rules_elementwise import ARITHMETIC, COMPARISONS, PREDICATES, UNARY, common_dims

ANY = (*FLOATS, *HALVES, *INTEGERS, "bool")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 3e38, -3e38, 100.0, -100.0)
UNDEFINED_ON_NAN = ("nn.relu6", "nn.selu", "nn.softplus")
"""Where numpy's formula and TVM's say different things of NaN or infinities."""


def _wild(graph: Graph, dims: Any, dtype: str) -> Value:
    """A parameter with NaN, infinities, zeros of both signs and extremes in it."""
    picked = graph.rng.choice(np.array(SPECIAL), graph.shape(dims))
    with np.errstate(all="ignore"):
        array = np.where(graph.rng.random(picked.shape) < 0.6, picked, graph.rng.random())
        return graph.private(np.asarray(array.astype(dtype)), dims)


@rule(2)
def special_values(graph: Graph) -> None:
    dtype = graph.choice(["float32", "float32", "float64"])
    x = _wild(graph, graph.dims(0, 3), dtype)
    kind = graph.choice(["unary", "binary", "compare", "predicate", "where", "reduce"])
    if kind == "unary":
        name = graph.choice([n for n in UNARY if n not in UNDEFINED_ON_NAN])
        result = np.asarray(UNARY[name][0](x.array)).astype(dtype)
        graph.add(name, [x], result, x.dims)
    elif kind == "predicate":
        name = graph.choice(list(PREDICATES))
        graph.add(name, [x], PREDICATES[name](x.array), x.dims, exact=True)
    elif kind == "reduce":
        if x.rank and x.array.size:
            # Whether a sum of extremes overflows depends on its order.
            x.array[np.isfinite(x.array) & (np.abs(x.array) > 1e3)] = 2
            axis = graph.number(0, x.rank - 1)
            dims = [d for i, d in enumerate(x.dims) if i != axis]
            graph.add("sum", [x], x.array.sum(axis, dtype=dtype), dims, axis=axis)
    else:
        _two_special_values(graph, x, kind)


def _two_special_values(graph: Graph, x: Value, kind: str) -> None:
    y = _wild(graph, x.dims, x.dtype)
    if kind == "where":
        condition = graph.parameter(x.dims, "bool")
        result = np.where(condition.array, x.array, y.array)
        graph.add("where", [condition, x, y], result, x.dims, exact=True)
        return
    table = ARITHMETIC if kind == "binary" else COMPARISONS
    name = graph.choice(list(table))
    graph.add(name, [x, y], table[name](x.array, y.array), x.dims, exact=kind == "compare")


@rule(1.5)
def halves(graph: Graph) -> None:
    """Arithmetic of two halves, rounded once; nothing is computed from the result."""
    x = graph.tensor(HALVES)
    kind = graph.choice(["unary", "binary", "compare", "cast"])
    wide = x.array.astype("float32")
    if kind == "unary":
        name = graph.choice(["exp", "tanh", "sigmoid", "nn.relu", "negative", "abs", "nn.gelu"])
        result = np.asarray(UNARY[name][0](wide)).astype(x.array.dtype)
        graph.add(name, [x], result, x.dims, exact=UNARY[name][3])
    elif kind == "cast":
        dtype = graph.choice(["float32", "float64", *HALVES])
        target = getattr(ml_dtypes, dtype, dtype)
        graph.add("astype", [x], wide.astype(target), x.dims, exact=True, dtype=dtype)
    else:
        y = graph.broadcastable(x)
        table = ARITHMETIC if kind == "binary" else COMPARISONS
        name = graph.choice(list(table))
        result = np.asarray(table[name](wide, y.array.astype("float32")))
        kept = result.astype(x.array.dtype) if kind == "binary" else result
        exact = kind == "compare" or name in ("maximum", "minimum")
        graph.add(name, [x, y], kept, common_dims(graph, x, y), exact=exact)


@rule(0.7)
def half_products(graph: Graph) -> None:
    dtype = getattr(ml_dtypes, graph.choice(HALVES), np.float16)
    rows, inner, columns = graph.number(1, 9), graph.number(1, 20), graph.number(1, 18)
    arrays = [(graph.rng.random(s) - 0.5).astype(dtype) for s in ((rows, inner), (inner, columns))]
    x, y = (graph.private(array) for array in arrays)
    result = arrays[0].astype("float32") @ arrays[1].astype("float32")
    graph.add("matmul", [x, y], result, out_dtype="float32")
    graph.last().results[0].tolerance = 1e-2


@rule()
def quantized(graph: Graph) -> None:
    axis_size = graph.number(1, 5)
    x = graph.parameter((graph.number(1, 6), axis_size), "float32", -20, 20)
    single = graph.chance(0.4)
    size = () if single else (axis_size,)
    scale = graph.parameter(size, "float32", 0.25, 2)
    scale.array[...] = np.exp2(np.round(np.log2(scale.array)))  # so that quotients are exact
    zero = graph.parameter(size, "int8", -5, 5)
    levels = np.clip(np.rint(x.array / scale.array) + zero.array, -128, 127).astype("int8")
    made = graph.add("quantize", [x, scale, zero], levels, exact=True)
    if graph.chance(0.5):
        back = ((levels.astype("int32") - zero.array) * scale.array).astype("float32")
        graph.add("dequantize", [made, scale, zero], back, exact=True)


@rule()
def filled(graph: Graph) -> None:
    dtype = graph.choice((*FLOATS, *HALVES, "int32", "int64", "uint8"))
    value = graph.parameter((), dtype)
    name = graph.choice(["full", "full_like", "eye_like", "wrap_param"])
    if name == "full":
        shape = graph.shape(graph.dims(0, 3))
        graph.add("full", [shape, value], np.full(shape, value.array), exact=True)
    elif name == "full_like":
        x = graph.tensor((dtype,))
        graph.add("full_like", [x, value], np.full_like(x.array, value.array), x.dims, exact=True)
    elif name == "eye_like":
        x = graph.tensor((*FLOATS, "int32"), 2, 2)
        k = graph.number(-2, 2)
        result = np.eye(x.array.shape[0], x.array.shape[1], k, x.array.dtype)
        graph.add("eye_like", [x, k], result, x.dims, exact=True)
    else:
        x = graph.tensor(("float32",))
        graph.add("wrap_param", [x], x.array.astype("float16"), x.dims, exact=True, dtype="float16")


@rule()
def put(graph: Graph) -> None:
    """scatter_nd, index_put and slice_scatter."""
    x = graph.tensor((*FLOATS, *INTEGERS), 1, 3, static=True)
    if not x.array.size:
        return
    name = graph.choice(["scatter_nd", "index_put", "slice_scatter"])
    rows = x.array.shape[0]
    if name == "slice_scatter":
        begin, step = graph.number(0, rows - 1), graph.number(1, 3)
        end = graph.number(begin + 1, rows)
        result = x.array.copy()
        source = graph.parameter((len(range(begin, end, step)), *x.dims[1:]), x.dtype)
        result[begin:end:step] = source.array
        graph.add(name, [x, source, begin, end, step], result, x.dims, exact=True)
        return
    count = graph.number(1, 4)
    places = graph.parameter((count,), "int64", 0, rows - 1)
    updates = graph.parameter((count, *x.dims[1:]), x.dtype)
    adds = graph.chance(0.5)
    where = [(int(place),) for place in places.array]
    result = scatter(x.array, where, updates.array, "add" if adds else "update")
    if name == "index_put":
        graph.add(name, [x, [places], updates], result, x.dims, exact=not adds, accumulate=adds)
        return
    rows_of = graph.given(places.array.reshape(count, 1))
    graph.add(name, [x, rows_of, updates], result, x.dims, exact=not adds,
              reduction="add" if adds else "update")  # fmt: skip


@rule()
def sizes_that_values_decide(graph: Graph) -> None:
    """nonzero, unique and dynamic slices: what follows knows only the rank."""
    x = graph.tensor(("int32", "int64", "float32"), 1, 2, exact=True, static=True)
    name = graph.choice(["nonzero", "unique", "dynamic_strided_slice"])
    if name == "nonzero":
        result = np.stack(np.nonzero(x.array))
        value = graph.add(name, [x], result, exact=True)
    elif name == "unique":
        result = np.unique(x.array)
        value = graph.add(name, [x], result, exact=True)
    else:
        low = [graph.number(0, n) for n in x.array.shape]
        high = [graph.number(b, n) for b, n in zip(low, x.array.shape, strict=True)]
        bounds = [graph.private(np.array(v, "int64")) for v in (low, high, [1] * x.rank)]
        result = x.array[tuple(map(slice, low, high))].copy()
        value = graph.add(name, [x, *bounds], result, exact=True)
    graph.values.remove(value)  # its sizes are unknown while the program is built
    if graph.chance(0.5) and result.size:
        graph.add("negative", [value], -result, exact=True)
        graph.values.remove(graph.last().results[0])


@rule()
def measured(graph: Graph) -> None:
    x = graph.tensor(ANY, 1)
    name = graph.choice(["size", "shape_to_tensor", "tensor_shape_i", "collapse_sum_like"])
    if name == "size":
        graph.add("size", [x], np.int64(x.array.size), exact=True)
    elif name == "shape_to_tensor":
        graph.add(name, [tuple(x.dims)], np.array(x.array.shape, "int64"), exact=True)
    elif name == "collapse_sum_like" and x.dtype in FLOATS:
        y = graph.parameter(x.dims[graph.number(0, x.rank - 1) :], x.dtype)
        axes = tuple(range(x.rank - y.rank))
        graph.add(name, [x, y], x.array.sum(axes, dtype=x.dtype), y.dims)


@rule()
def ordered(graph: Graph) -> None:
    x = graph.tensor(("float32", "float64"), 1, 3, exact=True)
    name = graph.choice(["bucketize", "median", "reverse_sequence"])
    if name == "bucketize":
        borders = graph.parameter((graph.number(1, 6),), x.dtype)
        borders.array.sort()
        right = graph.chance(0.5)
        result = np.searchsorted(borders.array, x.array, "right" if right else "left")
        graph.add(name, [x, borders], result.astype("int64"), x.dims, exact=True, right=right)
    elif name == "median" and x.array.size:
        axis = graph.number(0, x.rank - 1)
        line = np.sort(x.array, axis)
        at = (x.array.shape[axis] - 1) // 2
        values = np.take(line, at, axis)
        order = np.take(np.argsort(x.array, axis, kind="stable"), at, axis)
        dims = [d for i, d in enumerate(x.dims) if i != axis]
        for value in graph.add_tuple(name, [x], [values, order.astype("int64")], exact=True,
                                     axis=[axis]):  # fmt: skip
            value.dims = tuple(dims)
    elif name == "reverse_sequence" and x.rank > 1 and x.array.size:
        length, count = x.array.shape[:2]
        lengths = graph.given(graph.rng.integers(0, length + 1, count).astype("int64"), x.dims[1:2])
        result = x.array.copy()
        for column, n in enumerate(lengths.array):
            result[:n, column] = x.array[:n, column][::-1]
        graph.add(name, [x, lengths], result, x.dims, exact=True, seq_axis=0, batch_axis=1)


EINSUMS: dict[str, Callable[[int, int, int], list[tuple[int, ...]]]] = {
    "ij,jk->ik": lambda i, j, k: [(i, j), (j, k)],
    "ij,kj->ki": lambda i, j, k: [(i, j), (k, j)],
    "ijk->kj": lambda i, j, k: [(i, j, k)],
    "ij,ij->i": lambda i, j, k: [(i, j), (i, j)],
    "bij,bjk->bik": lambda i, j, k: [(2, i, j), (2, j, k)],
    "i,j->ij": lambda i, j, k: [(i,), (j,)],
    "ii->i": lambda i, j, k: [(i, i)],
}


@rule()
def einsums(graph: Graph) -> None:
    subscripts = graph.choice(list(EINSUMS))
    shapes = EINSUMS[subscripts](*(graph.number(1, 7) for _ in range(3)))
    operands = [graph.parameter(shape, "float32") for shape in shapes]
    result = np.einsum(subscripts, *(v.array for v in operands)).astype("float32")
    graph.add("einsum", [operands], result.copy(), subscripts=subscripts)


@rule()
def views(graph: Graph) -> None:
    """Windows of hamming, layouts, and memory seen as another shape."""
    name = graph.choice(["hamming_window", "layout_transform", "memory.view"])
    if name == "hamming_window":
        n = graph.number(2, 12)
        graph.add(name, [n, 0, 0.54, 0.46], np.hamming(n).astype("float32"))
        return
    x = graph.tensor(ANY, 1, 3, static=True)
    if not x.array.size:
        return
    if name == "memory.view":
        graph.add(name, [x, (x.array.size,)], x.array.reshape(-1), exact=True)
        return
    block, rows = graph.number(2, 4), x.array.shape[0]
    blocks = -(-rows // block)
    filled = np.zeros((blocks * block, *x.array.shape[1:]), x.array.dtype)
    filled[:rows] = x.array
    result = np.moveaxis(filled.reshape(blocks, block, *x.array.shape[1:]), 1, -1).copy()
    graph.add(name, [x], result, exact=True, pad_value=None if rows % block == 0 else 0,
              index_map=_blocked(x.rank, block))  # fmt: skip


def _blocked(rank: int, block: int) -> Callable[..., Any]:
    """(i, j, ...) to (i // block, j, ..., i % block)."""
    maps: dict[int, Callable[..., Any]] = {
        1: lambda i: (i // block, i % block),
        2: lambda i, j: (i // block, j, i % block),
        3: lambda i, j, k: (i // block, j, k, i % block),
    }
    return maps[rank]
