"""Rules of operators that work on each element by itself."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, inf
from typing import Any

import numpy as np

from tests.fuzz.graphs import FLOATS, INTEGERS, Graph, Value, rule

_erf = np.vectorize(erf, otypes=[float])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# name -> function, where it is defined, whether its results are the same bits everywhere
UNARY: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float, float, bool]] = {
    "abs": (np.abs, -inf, inf, True),
    "negative": (np.negative, -inf, inf, True),
    "square": (np.square, -10, 10, False),
    "exp": (np.exp, -10, 4, False),
    "log": (np.log, 0.05, inf, False),
    "sqrt": (np.sqrt, 0.01, inf, False),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.05, inf, False),
    "sigmoid": (_sigmoid, -inf, inf, False),
    "sin": (np.sin, -20, 20, False),
    "cos": (np.cos, -20, 20, False),
    "tan": (np.tan, -1.2, 1.2, False),
    "sinh": (np.sinh, -4, 4, False),
    "cosh": (np.cosh, -4, 4, False),
    "tanh": (np.tanh, -inf, inf, False),
    "asin": (np.arcsin, -0.9, 0.9, False),
    "acos": (np.arccos, -0.9, 0.9, False),
    "atan": (np.arctan, -inf, inf, False),
    "asinh": (np.arcsinh, -inf, inf, False),
    "acosh": (np.arccosh, 1.1, inf, False),
    "atanh": (np.arctanh, -0.9, 0.9, False),
    "erf": (lambda x: _erf(x) if x.size else x, -inf, inf, False),
    "nn.relu": (lambda x: np.maximum(x, 0), -inf, inf, True),
    "nn.relu6": (lambda x: np.clip(x, 0, 6), -inf, inf, True),
    "nn.gelu": (lambda x: x * 0.5 * (1 + _erf(x / np.sqrt(2))) if x.size else x, -inf, inf, False),
    "nn.silu": (lambda x: x * _sigmoid(x), -inf, inf, False),
    "nn.selu": (
        lambda x: 1.0507009873554804934
        * np.where(x > 0, x, 1.6732632423543772848 * (np.exp(np.minimum(x, 0)) - 1)),
        -inf, inf, False,
    ),
    "nn.softplus": (lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20)))),
                    -inf, inf, False),
    "nn.gelu_tanh": (
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        -inf, inf, False,
    ),
}  # fmt: skip

ROUNDING = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round, "sign": np.sign,
}  # fmt: skip
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
ARITHMETIC = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum,
}  # fmt: skip
COMPARISONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "greater": np.greater,
    "less_equal": np.less_equal, "greater_equal": np.greater_equal,
}  # fmt: skip
LOGICAL = {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip
BITWISE = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip


def common_dims(graph: Graph, *values: Value) -> tuple[int | str, ...]:
    """The dimensions that broadcasting gives: the wider one of each, symbols kept."""
    rank = max(value.rank for value in values)
    dims: list[int | str] = []
    for back in range(rank, 0, -1):
        given = [v.dims[-back] for v in values if v.rank >= back]
        wide = [d for d in given if d != 1]
        dims.append(wide[0] if wide else 1)
    return tuple(dims)


def _as_result(array: Any, like: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(like.dtype)


@rule(4)
def unary(graph: Graph) -> None:
    name = graph.choice(list(UNARY))
    function, low, high, exact = UNARY[name]
    within = None if low == -inf and high == inf else (max(low, -10), min(high, 10))
    x = graph.tensor(within=within)
    graph.add(name, [x], _as_result(function(x.array), x.array), x.dims, exact=exact)


@rule()
def integer_unary(graph: Graph) -> None:
    x = graph.tensor(("int32", "int64", "int8"))
    name = graph.choice(["abs", "negative", "square", "bitwise_not", "sign", "nn.relu"])
    function: Any = {
        "abs": np.abs, "negative": np.negative, "square": np.square, "sign": np.sign,
        "bitwise_not": np.bitwise_not, "nn.relu": lambda v: np.maximum(v, 0),
    }[name]  # fmt: skip
    graph.add(name, [x], _as_result(function(x.array), x.array), x.dims, exact=True)


@rule()
def rounding(graph: Graph) -> None:
    x = graph.tensor(exact=True)
    name = graph.choice(list(ROUNDING))
    graph.add(name, [x], ROUNDING[name](x.array), x.dims, exact=True)


@rule(0.5)
def predicates(graph: Graph) -> None:
    x = graph.tensor()
    name = graph.choice(list(PREDICATES))
    graph.add(name, [x], PREDICATES[name](x.array), x.dims, exact=True)


@rule(5)
def arithmetic(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, *INTEGERS))
    y = graph.broadcastable(x)
    x, y = (y, x) if graph.chance(0.5) else (x, y)
    name = graph.choice(list(ARITHMETIC))
    result = ARITHMETIC[name](x.array, y.array)
    # A product and a sum of floats may become one operation that rounds once.
    exact = not x.dtype.startswith("float") or name in ("maximum", "minimum")
    graph.add(name, [x, y], result, common_dims(graph, x, y), exact=exact)


@rule(1.5)
def division(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32", "int64"))
    if x.dtype.startswith("float"):
        y = graph.parameter(x.dims, x.dtype, 0.5, 3)
        graph.add("divide", [x, y], x.array / y.array, x.dims)
        return
    y = graph.parameter(x.dims[graph.number(0, x.rank) :], x.dtype, 1, 4)
    name = graph.choice(["floor_divide", "floor_mod", "mod"])
    functions = {"floor_divide": np.floor_divide, "floor_mod": np.mod, "mod": np.fmod}
    result = functions[name](x.array, y.array)
    graph.add(name, [x, y], result, common_dims(graph, x, y), exact=True)


@rule()
def powers(graph: Graph) -> None:
    x = graph.tensor(within=(0.3, 3))
    name = graph.choice(["power", "atan2", "log_add_exp"])
    y = graph.like(x)
    functions = {"power": np.power, "atan2": np.arctan2, "log_add_exp": np.logaddexp}
    graph.add(name, [x, y], functions[name](x.array, y.array), common_dims(graph, x, y))


@rule(1.5)
def comparisons(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, *INTEGERS), exact=True)
    y = graph.broadcastable(x, exact=True)
    name = graph.choice(list(COMPARISONS))
    result = COMPARISONS[name](x.array, y.array)
    graph.add(name, [x, y], result, common_dims(graph, x, y), exact=True)


@rule()
def logic(graph: Graph) -> None:
    x = graph.tensor(("bool",))
    if graph.chance(0.3):
        graph.add("logical_not", [x], ~x.array, x.dims, exact=True)
        return
    y = graph.broadcastable(x)
    name = graph.choice(list(LOGICAL))
    result = LOGICAL[name](x.array, y.array)
    graph.add(name, [x, y], result, common_dims(graph, x, y), exact=True)


@rule()
def bits(graph: Graph) -> None:
    x = graph.tensor(INTEGERS)
    if graph.chance(0.5):
        y = graph.broadcastable(x)
        name = graph.choice(list(BITWISE))
        result = BITWISE[name](x.array, y.array)
    else:
        y = graph.parameter(x.dims, x.dtype, 0, 5)
        name = graph.choice(["left_shift", "right_shift"])
        result = (np.left_shift if name == "left_shift" else np.right_shift)(x.array, y.array)
    graph.add(name, [x, y], result, common_dims(graph, x, y), exact=True)


@rule()
def selection(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, *INTEGERS))
    condition = graph.like(x, "bool")
    y = graph.like(x)
    if graph.chance(0.3):
        condition = graph.parameter(x.dims[graph.number(0, x.rank) :], "bool")
    result = np.where(condition.array, x.array, y.array)
    graph.add("where", [condition, x, y], result, common_dims(graph, condition, x, y), exact=True)


@rule()
def casts(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, *INTEGERS, "bool"), exact=True)
    dtype = graph.choice((*FLOATS, "int32", "int64", "bool"))
    if x.dtype.startswith("float") and dtype == "bool":
        dtype = "int32"
    graph.add("astype", [x], x.array.astype(dtype), x.dims, exact=True, dtype=dtype)


@rule(0.7)
def clipping(graph: Graph) -> None:
    x = graph.tensor()
    low, high = sorted(graph.rng.random(2).round(2) * 4 - 2)
    result = np.clip(x.array, np.asarray(low, x.dtype), np.asarray(high, x.dtype))
    graph.add("clip", [x, float(low), float(high)], result, x.dims, exact=True)


@rule(0.7)
def activations(graph: Graph) -> None:
    x = graph.tensor(low=1)
    if graph.chance(0.5):
        alpha = 0.25
        result = np.where(x.array > 0, x.array, x.array * np.asarray(alpha, x.dtype))
        graph.add("nn.leakyrelu", [x], result, x.dims, alpha=alpha)
        return
    axis = graph.number(0, x.rank - 1)
    slope = graph.parameter((x.dims[axis],), x.dtype)
    shape = [1] * x.rank
    shape[axis] = -1
    result = np.where(x.array > 0, x.array, x.array * slope.array.reshape(shape))
    graph.add("nn.prelu", [x, slope], result, x.dims, axis=axis)


@rule(0.5)
def multiply_add(graph: Graph) -> None:
    x = graph.tensor()
    y, z = graph.like(x), graph.like(x)
    graph.add("ewise_fma", [x, y, z], x.array * y.array + z.array, x.dims)
