"""Rules of reductions, products, sorting and the layers of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs import FLOATS, INTEGERS, Graph, Value, rule

NUMBERS = (*FLOATS, *INTEGERS)
REDUCTIONS = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod,
    "variance": np.var, "std": np.std,
}  # fmt: skip


def _axes(graph: Graph, rank: int) -> list[int]:
    count = graph.number(1, rank)
    return [int(a) for a in sorted(graph.rng.permutation(rank)[:count])]


def _left(dims: Any, axes: list[int], keepdims: bool) -> list[Any]:
    if keepdims:
        return [1 if i in axes else d for i, d in enumerate(dims)]
    return [d for i, d in enumerate(dims) if i not in axes]


@rule(3)
def reductions(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32", "int64"), 1)
    name = graph.choice(["sum", "max", "min"] if x.dtype[0] == "i" else list(REDUCTIONS))
    axes = _axes(graph, x.rank)
    if 0 in (x.array.shape[a] for a in axes):
        return
    keepdims = graph.chance(0.5)
    values = x.array.astype("float64") if x.dtype.startswith("float") else x.array
    result = REDUCTIONS[name](values, axis=tuple(axes), keepdims=keepdims).astype(x.dtype)
    given: Any = axes if len(axes) > 1 or graph.chance(0.5) else axes[0]
    exact = x.dtype[0] == "i" or name in ("max", "min")
    graph.add(name, [x], result, _left(x.dims, axes, keepdims), exact=exact, axis=given,
              keepdims=keepdims)  # fmt: skip


@rule()
def positions(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32"), 1, exact=True)
    axis = graph.number(0, x.rank - 1)
    if not x.array.size:
        return
    name, keepdims = graph.choice(["argmax", "argmin"]), graph.chance(0.5)
    found = (np.argmax if name == "argmax" else np.argmin)(x.array, axis)
    result = np.expand_dims(found, axis) if keepdims else found
    graph.add(name, [x], result.astype("int64"), _left(x.dims, [axis], keepdims), exact=True,
              axis=axis, keepdims=keepdims)  # fmt: skip


@rule()
def scans(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32", "int64"), 1)
    axis = graph.number(0, x.rank - 1)
    name = graph.choice(["cumsum", "cumprod"])
    function = np.cumsum if name == "cumsum" else np.cumprod
    result = function(x.array, axis, dtype=x.array.dtype)
    graph.add(name, [x], result, x.dims, exact=x.dtype[0] == "i", axis=axis)


@rule()
def sorting(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32"), 1, exact=True)
    axis, descending = graph.number(0, x.rank - 1), graph.chance(0.5)
    keys = -x.array.astype("float64") if descending else x.array
    order = np.argsort(keys, axis, kind="stable")
    if graph.chance(0.5):
        result = np.take_along_axis(x.array, order, axis)
        graph.add("sort", [x], result, x.dims, exact=True, axis=axis, descending=descending)
    else:
        graph.add("argsort", [x], order.astype("int64"), x.dims, exact=True, axis=axis,
                  descending=descending, dtype="int64")  # fmt: skip


@rule(0.7)
def best(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32"), 1, exact=True, static=True)
    axis = graph.number(0, x.rank - 1)
    if not x.array.size:
        return
    k = graph.number(1, x.array.shape[axis])
    largest = graph.chance(0.5)
    keys = -x.array.astype("float64") if largest else x.array
    order = np.take(np.argsort(keys, axis, kind="stable"), range(k), axis)
    values = np.take_along_axis(x.array, order, axis)
    graph.add_tuple("topk", [x], [values, order.astype("int32")], exact=True, k=k, axis=axis,
                    largest=largest, ret_type="both", dtype="int32")  # fmt: skip


@rule(3)
def products(graph: Graph) -> None:
    x = graph.tensor(FLOATS, 1)
    inner = x.dims[-1]
    columns = graph.choice([1, 3, 8, 17])
    if x.rank > 2 and graph.chance(0.5):
        dims = (*x.dims[:-2], inner, columns)
    else:
        dims = (inner, columns)
    y = graph.parameter(dims, x.dtype)
    result = np.matmul(x.array, y.array)
    graph.add("matmul", [x, y], result, (*x.dims[:-1], columns))


@rule(0.5)
def outer(graph: Graph) -> None:
    x, y = graph.tensor(FLOATS, 1, 1), graph.tensor(FLOATS, 1, 1)
    if x.dtype == y.dtype:
        graph.add("outer", [x, y], np.outer(x.array, y.array), (*x.dims, *y.dims))


@rule(2)
def softmaxes(graph: Graph) -> None:
    x = graph.tensor(FLOATS, 1)
    axis = graph.number(-x.rank, x.rank - 1)
    if not x.array.shape[axis]:
        return
    shifted = x.array - x.array.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    if graph.chance(0.6):
        graph.add("nn.softmax", [x], np.exp(shifted) / total, x.dims, axis=axis)
    else:
        graph.add("nn.log_softmax", [x], shifted - np.log(total), x.dims, axis=axis)


@rule(1.5)
def normalizations(graph: Graph) -> None:
    x = graph.tensor(FLOATS, 1)
    count = graph.number(1, min(2, x.rank))
    axes = list(range(x.rank - count, x.rank))
    if 0 in (x.array.shape[a] for a in axes):
        return
    dims = [x.dims[a] for a in axes]
    gamma = graph.parameter(dims, x.dtype)
    values = x.array.astype("float64")
    if graph.chance(0.5):
        beta = graph.parameter(dims, x.dtype)
        mean = values.mean(tuple(axes), keepdims=True)
        variance = values.var(tuple(axes), keepdims=True)
        result = (values - mean) / np.sqrt(variance + 0.1) * gamma.array + beta.array
        graph.add("nn.layer_norm", [x, gamma, beta], result.astype(x.dtype), x.dims,
                  axes=axes, epsilon=0.1)  # fmt: skip
    else:
        square = (values**2).mean(tuple(axes), keepdims=True)
        result = values / np.sqrt(square + 0.1) * gamma.array
        graph.add("nn.rms_norm", [x, gamma], result.astype(x.dtype), x.dims,
                  axes=axes, epsilon=0.1)  # fmt: skip


@rule()
def batch_normalization(graph: Graph) -> None:
    x = graph.tensor(("float32",), 2)
    axis = 1
    shape = [1] * x.rank
    shape[axis] = -1
    gamma, beta, mean = (graph.parameter((x.dims[axis],), x.dtype) for _ in range(3))
    variance = graph.parameter((x.dims[axis],), x.dtype, 0.5, 2)
    parts = [v.array.reshape(shape) for v in (gamma, beta, mean, variance)]
    result = (x.array - parts[2]) / np.sqrt(parts[3] + np.float32(1e-5)) * parts[0] + parts[1]
    values = [result.astype(x.dtype), mean.array, variance.array]
    graph.add_tuple("nn.batch_norm", [x, gamma, beta, mean, variance], values, axis=axis,
                    training=False)  # fmt: skip


def image(graph: Graph, dims: int, groups: int = 1) -> Value:
    """A batch of images, old or new, whose channels the number of groups divides."""

    def fits(value: Value) -> bool:
        shape = value.array.shape
        return (
            value.dtype == "float32"
            and value.rank == dims + 2
            and shape == value.dims
            and min(shape) > 0
            and shape[1] % groups == 0
            and min(shape[2:]) >= 3
            and value.array.size < 3000
        )

    found = graph.pick(fits) if graph.chance(0.5) else None
    if found is not None:
        return found
    channels = groups * graph.number(1, 3)
    shape = (graph.number(1, 2), channels, *(graph.number(3, 9) for _ in range(dims)))
    return graph.parameter(shape, "float32")


def _windows(x: np.ndarray, kernel: Any, strides: Any, dilation: Any) -> np.ndarray:
    """(N, C, outputs..., kernel...) of an image that is padded already."""
    wide = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, wide, axes)
    at = tuple(slice(None, None, s) for s in strides)
    inside = tuple(slice(None, None, d) for d in dilation)
    return windows[(slice(None), slice(None), *at, *inside)]


@rule(2)
def convolutions(graph: Graph) -> None:
    dims = graph.choice([1, 2, 2, 3])
    groups = graph.choice([1, 1, 2])
    x = image(graph, dims, groups)
    channels = x.array.shape[1] // groups
    kernel = [graph.number(1, 3) for _ in range(dims)]
    strides = [graph.number(1, 2) for _ in range(dims)]
    dilation = [graph.choice([1, 1, 2]) for _ in range(dims)]
    padding = [graph.number(0, 2) for _ in range(dims)]
    padded = np.pad(x.array, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    if any(s < (k - 1) * d + 1 for s, k, d in
           zip(padded.shape[2:], kernel, dilation, strict=True)):  # fmt: skip
        return
    outputs = groups * graph.number(1, 4)
    weight = graph.parameter((outputs, channels, *kernel), "float32", -1, 1)
    parts = []
    for g in range(groups):
        own = padded[:, g * channels : (g + 1) * channels]
        block = weight.array[g * outputs // groups : (g + 1) * outputs // groups]
        windows = _windows(own, kernel, strides, dilation)
        taps = list(range(2 + dims, 2 + 2 * dims))
        part = np.tensordot(windows, block, axes=([1, *taps], [1, *range(2, 2 + dims)]))
        parts.append(np.moveaxis(part, -1, 1))
    result = np.concatenate(parts, 1)
    graph.add(f"nn.conv{dims}d", [x, weight], result.astype("float32"), strides=strides,
              padding=padding, dilation=dilation, groups=groups)  # fmt: skip


@rule()
def pooling(graph: Graph) -> None:
    dims = graph.choice([1, 2, 2, 3])
    x = image(graph, dims)
    kernel = [graph.number(1, 3) for _ in range(dims)]
    strides = [graph.number(1, 2) for _ in range(dims)]
    windows = _windows(x.array, kernel, strides, [1] * dims)
    taps = tuple(range(2 + dims, 2 + 2 * dims))
    name = graph.choice(["max", "avg"])
    result = windows.max(taps) if name == "max" else windows.mean(taps)
    graph.add(f"nn.{name}_pool{dims}d", [x], result.astype("float32"), exact=name == "max",
              pool_size=kernel, strides=strides, padding=[0] * dims)  # fmt: skip


@rule(0.7)
def adaptive_pooling(graph: Graph) -> None:
    x = image(graph, 2)
    sizes = [graph.number(1, s) for s in x.array.shape[2:]]
    result = np.zeros((*x.array.shape[:2], *sizes), "float32")
    for place in np.ndindex(*sizes):
        window = tuple(
            slice(p * s // o, -(-(p + 1) * s // o))
            for p, s, o in zip(place, x.array.shape[2:], sizes, strict=True)
        )
        result[(slice(None), slice(None), *place)] = x.array[
            (slice(None), slice(None), *window)
        ].mean((2, 3))
    graph.add("nn.adaptive_avg_pool2d", [x], result, output_size=sizes)


@rule()
def attention(graph: Graph) -> None:
    batch, heads, width = graph.number(1, 2), graph.number(1, 3), graph.choice([1, 4, 8])
    length, others = graph.number(1, 6), graph.number(1, 7)
    q = graph.parameter((batch, length, heads, width), "float32")
    k = graph.parameter((batch, others, heads, width), "float32")
    v = graph.parameter((batch, others, heads, graph.choice([1, 5])), "float32")
    scores = np.einsum("bihd,bjhd->bhij", q.array, k.array) / np.sqrt(width)
    causal = graph.chance(0.3) and length <= others
    if causal:
        seen = np.arange(others) <= np.arange(length)[:, None]
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    result = np.einsum("bhij,bjhd->bihd", weights, v.array).astype("float32")
    mask = "TopLeft" if causal else None
    graph.add("nn.attention", [q, k, v], result, causal_mask=mask)
