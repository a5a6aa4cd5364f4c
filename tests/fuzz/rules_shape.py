"""Rules of operators that move elements: layouts, parts, joins, indices, creation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs import FLOATS, HALVES, INTEGERS, Graph, Value, rule

ANY = (*FLOATS, *HALVES, *INTEGERS, "bool")
NUMBERS = (*FLOATS, *INTEGERS)


@rule(2)
def transposed(graph: Graph) -> None:
    x = graph.tensor(ANY, 1)
    axes = [int(a) for a in graph.rng.permutation(x.rank)]
    dims = [x.dims[a] for a in axes]
    graph.add("permute_dims", [x], x.array.transpose(axes).copy(), dims, exact=True, axes=axes)


@rule(2)
def reshaped(graph: Graph) -> None:
    x = graph.tensor(ANY, static=True)
    factors, rest = [], x.array.size
    for prime in (2, 3, 5, 7):
        while rest and rest % prime == 0 and graph.chance(0.7):
            factors.append(prime)
            rest //= prime
    sizes = [int(f) for f in graph.rng.permutation([*factors, rest])] if factors else [rest]
    if graph.chance(0.2) and x.array.size:
        sizes.insert(graph.number(0, len(sizes)), 1)
    result = x.array.reshape(sizes)
    given = tuple(sizes)
    if graph.chance(0.3) and x.array.size:
        hole = graph.number(0, len(sizes) - 1)
        given = (*given[:hole], -1, *given[hole + 1 :])
        graph.add("reshape", [x, list(given)], result, exact=True)
        return
    graph.add("reshape", [x, given], result, exact=True)


@rule()
def ranks(graph: Graph) -> None:
    x = graph.tensor(ANY, 0, 3)
    if graph.chance(0.3):
        dims = x.dims if x.rank == 1 else None
        size: Any = x.array.size
        if dims is None and any(isinstance(d, str) for d in x.dims):
            return
        graph.add("flatten", [x], x.array.reshape(size), dims, exact=True)
        return
    axis = graph.number(0, x.rank)
    dims = (*x.dims[:axis], 1, *x.dims[axis:])
    wide = graph.add("expand_dims", [x], np.expand_dims(x.array, axis), dims, exact=True, axis=axis)
    if graph.chance(0.3):
        graph.add("squeeze", [wide], x.array, x.dims, exact=True, axis=[axis])


@rule()
def stretched(graph: Graph) -> None:
    x = graph.tensor(ANY, 0, 3)
    front = graph.shape(graph.dims(0, 4 - x.rank))
    dims = [d if d != 1 else graph.number(1, 3) for d in x.dims]
    whole = (*front, *dims)
    result = np.broadcast_to(x.array, graph.shape(whole)).copy()
    graph.add("broadcast_to", [x, whole], result, whole, exact=True)


@rule(1.5)
def joined(graph: Graph) -> None:
    x = graph.tensor(ANY, 1)
    if graph.chance(0.3):
        axis = graph.number(0, x.rank)
        others = [x, graph.like(x)]
        dims = (*x.dims[:axis], 2, *x.dims[axis:])
        result = np.stack([v.array for v in others], axis)
        graph.add("stack", [others], result, dims, exact=True, axis=axis)
        return
    axis = graph.number(0, x.rank - 1)
    parts = [x]
    for _ in range(graph.number(1, 2)):
        dims = list(x.dims)
        if isinstance(dims[axis], int):
            dims[axis] = graph.number(1, 4)
        parts.append(graph.parameter(dims, x.dtype))
    result = np.concatenate([v.array for v in parts], axis)
    sizes = [v.dims[axis] for v in parts]
    known = [size for size in sizes if isinstance(size, int)]
    total = sum(known) if len(known) == len(sizes) else result.shape[axis]
    if not isinstance(sizes[0], int):
        return
    dims = (*x.dims[:axis], total, *x.dims[axis + 1 :])
    graph.add("concat", [parts], result, dims, exact=True, axis=axis)


@rule()
def parted(graph: Graph) -> None:
    x = graph.tensor(ANY, 1, static=True)
    axis = graph.number(0, x.rank - 1)
    size = x.array.shape[axis]
    if size < 2:
        return
    divisors = [d for d in range(2, size + 1) if size % d == 0]
    if divisors and graph.chance(0.5):
        sections: Any = graph.choice(divisors)
    else:
        sections = sorted({graph.number(1, size - 1) for _ in range(2)})
    results = [part.copy() for part in np.split(x.array, sections, axis)]
    graph.add_tuple("split", [x], results, exact=True, indices_or_sections=sections, axis=axis)


@rule()
def repeated(graph: Graph) -> None:
    x = graph.tensor(ANY, 1, 3, static=True)
    name = graph.choice(["repeat", "tile", "flip"])
    if name == "repeat":
        axis, count = graph.number(0, x.rank - 1), graph.number(1, 3)
        result = np.repeat(x.array, count, axis)
        graph.add("repeat", [x], result, exact=True, repeats=count, axis=axis)
    elif name == "tile":
        counts = [graph.number(1, 2) for _ in range(x.rank)]
        graph.add("tile", [x], np.tile(x.array, counts), exact=True, repeats=counts)
    else:
        axis = graph.number(0, x.rank - 1)
        graph.add("flip", [x], np.flip(x.array, axis).copy(), exact=True, axis=axis)


@rule(1.5)
def sliced(graph: Graph) -> None:
    x = graph.tensor(ANY, 1, static=True)
    axes = [int(a) for a in sorted(graph.rng.permutation(x.rank)[: graph.number(1, x.rank)])]
    slices: list[Any] = [slice(None)] * x.rank
    begins, ends, steps = [], [], []
    for axis in axes:
        size = x.array.shape[axis]
        begin, step = graph.number(-size, size), graph.choice([1, 1, 2, 3, -1])
        end = graph.number(-size, size)
        begins.append(begin)
        ends.append(end)
        steps.append(step)
        slices[axis] = slice(begin, end, step)
    result = x.array[tuple(slices)].copy()
    operands = [x, tuple(axes), tuple(begins), tuple(ends), tuple(steps)]
    graph.add("strided_slice", operands, result, exact=True)


@rule(1.5)
def gathered(graph: Graph) -> None:
    x = graph.tensor(ANY, 1, static=True)
    axis = graph.number(0, x.rank - 1)
    size = x.array.shape[axis]
    if not x.array.size:
        return
    name = graph.choice(["take", "gather_elements", "gather_nd", "index_tensor"])
    dtype = graph.choice(["int32", "int64"])
    if name == "take":
        indices = graph.parameter(graph.shape(graph.dims(0, 2)), dtype, 0, size - 1)
        result = np.take(x.array, indices.array, axis)
        graph.add("take", [x, indices], result, exact=True, axis=axis)
    elif name == "gather_elements":
        shape = tuple(graph.number(1, s) for s in x.array.shape)
        indices = graph.parameter(shape, dtype, 0, size - 1)
        part = x.array[tuple(slice(0, s) if i != axis else slice(None)
                             for i, s in enumerate(shape))]  # fmt: skip
        result = np.take_along_axis(part, indices.array.astype("int64"), axis)
        graph.add("gather_elements", [x, indices], result, exact=True, axis=axis)
    elif name == "gather_nd":
        depth = graph.number(1, x.rank)
        smallest = min(x.array.shape[:depth])
        indices = graph.parameter((graph.number(1, 4), depth), dtype, 0, smallest - 1)
        result = x.array[tuple(indices.array.T)]
        graph.add("gather_nd", [x, indices], result, exact=True)
    else:
        indices = graph.parameter((graph.number(1, 4),), dtype, 0, x.array.shape[0] - 1)
        graph.add("index_tensor", [x, [indices]], x.array[indices.array], exact=True)


@rule()
def scattered(graph: Graph) -> None:
    x = graph.tensor(NUMBERS, 1, static=True)
    axis = graph.number(0, x.rank - 1)
    size = x.array.shape[axis]
    if not x.array.size:
        return
    line = graph.rng.permutation(size)[: graph.number(1, size)]
    shape = [*x.array.shape]
    shape[axis] = len(line)
    view = [1] * x.rank
    view[axis] = -1
    indices = graph.parameter(shape, "int64", 0, size - 1)
    indices.array[...] = line.reshape(view)
    updates = graph.parameter(shape, x.dtype)
    result = x.array.copy()
    reduction = graph.choice(["update", "add", "max", "min", "mul"])
    old = np.take_along_axis(x.array, indices.array, axis)
    new = {
        "update": updates.array, "add": old + updates.array, "mul": old * updates.array,
        "max": np.maximum(old, updates.array), "min": np.minimum(old, updates.array),
    }[reduction]  # fmt: skip
    np.put_along_axis(result, indices.array, new.astype(x.dtype), axis)
    graph.add("scatter_elements", [x, indices, updates], result, axis=axis, reduction=reduction,
              exact=reduction in ("update", "max", "min"))  # fmt: skip


@rule()
def padded(graph: Graph) -> None:
    x = graph.tensor(FLOATS, 1, static=True)
    widths = [(graph.number(0, 2), graph.number(0, 2)) for _ in range(x.rank)]
    value = graph.choice([0.0, 1.5])
    result = np.pad(x.array, widths, constant_values=value)
    flat = [w for pair in widths for w in pair]
    graph.add("nn.pad", [x], result, exact=True, pad_width=flat, pad_value=value)


@rule()
def triangles(graph: Graph) -> None:
    x = graph.tensor(NUMBERS, 2)
    k = graph.number(-2, 2)
    name = graph.choice(["tril", "triu"])
    result = (np.tril if name == "tril" else np.triu)(x.array, k)
    graph.add(name, [x, k], result, x.dims, exact=True)


@rule()
def created(graph: Graph) -> None:
    dims: tuple[int | str, ...] = graph.shape(graph.dims(0, 3))
    dtype = graph.choice((*FLOATS, "int32", "int64"))
    name = graph.choice(["zeros", "ones", "eye", "arange", "zeros_like", "ones_like", "one_hot"])
    shape = graph.shape(dims)
    if name in ("zeros", "ones"):
        result = (np.zeros if name == "zeros" else np.ones)(shape, dtype)
        graph.add(name, [dims], result, dims, exact=True, dtype=dtype)
    elif name == "eye":
        n, m, k = graph.number(1, 5), graph.number(1, 5), graph.number(-1, 1)
        graph.add("eye", [n, m, k], np.eye(n, m, k, dtype), exact=True, dtype=dtype)
    elif name == "arange":
        start, count, step = graph.number(-3, 3), graph.number(1, 8), graph.choice([1, 2, 3])
        end = start + count
        result = np.arange(start, end, step).astype(dtype)
        graph.add("arange", [start, end, step], result, exact=True, dtype=dtype)
    elif name == "one_hot":
        indices = graph.parameter(graph.shape(graph.dims(0, 2)), "int64", 0, 3)
        result = np.eye(4, dtype="float32")[indices.array]
        graph.add("one_hot", [indices, 1.0, 0.0], result, exact=True, depth=4, axis=-1)
    else:
        x = graph.tensor(NUMBERS)
        result = (np.zeros_like if name == "zeros_like" else np.ones_like)(x.array)
        graph.add(name, [x], result, x.dims, exact=True)


@rule(0.5)
def grids(graph: Graph) -> None:
    lines = [graph.tensor(FLOATS, 1, 1, static=True) for _ in range(2)]
    if lines[0].dtype != lines[1].dtype or min(v.array.size for v in lines) == 0:
        return
    results = np.meshgrid(*[v.array for v in lines], indexing="ij")
    graph.add_tuple("meshgrid", [lines], [r.copy() for r in results], exact=True, indexing="ij")


@rule(0.5)
def sums_to_shape(graph: Graph) -> None:
    x = graph.tensor(FLOATS, 1, static=True)
    keep = graph.number(0, x.rank - 1)
    shape = tuple(1 if graph.chance(0.4) else s for s in x.array.shape[keep:])
    result = x.array.sum(tuple(range(keep)))
    for axis, size in enumerate(shape):
        if size == 1:
            result = result.sum(axis, keepdims=True)
    graph.add("collapse_sum_to", [x, shape], result.astype(x.dtype))


def marked(graph: Graph, x: Value) -> Value:
    """The value behind an operator that does not change it."""
    name = graph.choice(["grad.no_grad", "builtin.stop_lift_params", "memory.ensure_zero_offset"])
    return graph.add(name, [x], x.array, x.dims, exact=True)


@rule(0.3)
def marks(graph: Graph) -> None:
    marked(graph, graph.tensor(ANY))
