"""Random graphs of Relax operators, and what numpy says that they compute.

A `Graph` grows by rules (`rules_*.py`), each of which adds one operator on values that are there
or on new parameters, with the array it must give.  What an operator makes discontinuous (a
comparison, a rounding) is applied to exact values only, whose bits are the same everywhere, and
large or undefined results are clipped before others use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir import relax, tir
from relax_mlir.ir import IRModule
from relax_mlir.relax import op as operators

FLOATS = ("float32", "float32", "float32", "float64")
HALVES = ("float16", "bfloat16")
INTEGERS = ("int32", "int64", "int8", "uint8", "int32", "int64", "int16", "uint16", "uint32",
            "uint64")  # fmt: skip
SIZES = (1, 2, 3, 4, 5, 7) * 6 + (0, 16, 17, 33)
SYMBOLS = ("n", "m")
LIMIT = 50.0


@dataclass(eq=False)
class Value:
    """A value of a graph: its array, whose shape `dims` spells with symbols, and whether the
    compiled program must give the same bits."""

    array: np.ndarray
    dims: tuple[int | str, ...]
    exact: bool = True
    name: str = ""
    tolerance: float = 0.0
    """How far the program may be off where that is more than the dtype's usual limit."""

    @property
    def dtype(self) -> str:
        return self.array.dtype.name

    @property
    def rank(self) -> int:
        return self.array.ndim


Emit = Callable[[relax.BlockBuilder, list[Any]], Any]
"""Makes the expression of a node from those of its operands."""


@dataclass(eq=False)
class Node:
    """One operator, or what `emit` makes; `results` has several values for one that gives a tuple.
    Nodes that are `impure`, or branch, stand outside dataflow blocks."""

    name: str
    operands: Sequence[Any]
    attributes: dict[str, Any]
    results: list[Value]
    tuple_result: bool = False
    emit: Emit | None = None
    in_dataflow: bool = True
    pure: bool = True


@dataclass
class Graph:
    """A random function that is being written."""

    rng: np.random.Generator
    sizes: dict[str, int] = field(default_factory=dict)
    parameters: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sizes = {name: int(self.choice((1, 2, 3, 4, 5, 5, 0, 18))) for name in SYMBOLS}

    # -- choices ------------------------------------------------------------------------------
    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choice(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def number(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def dims(self, low: int = 0, high: int = 4) -> tuple[int | str, ...]:
        rank = self.number(low, high)
        return tuple(
            self.choice(SYMBOLS) if self.chance(0.15) else self.choice(SIZES) for _ in range(rank)
        )

    def symbol(self, size: int) -> str:
        """A new symbol that has that size."""
        name = f"s{len(self.sizes)}"
        self.sizes[name] = size
        return name

    def shape(self, dims: Sequence[int | str]) -> tuple[int, ...]:
        return tuple(self.sizes[d] if isinstance(d, str) else d for d in dims)

    # -- values -------------------------------------------------------------------------------
    def parameter(
        self, dims: Sequence[int | str], dtype: str, low: float = -3, high: float = 3
    ) -> Value:
        """A new parameter of random values."""
        shape = self.shape(dims)
        if dtype == "bool":
            array = self.rng.random(shape) < 0.5
        elif "float" in dtype:
            array = self.rng.random(shape) * (high - low) + low
        else:
            lowest = max(int(low), 0) if dtype.startswith("u") else int(low)
            array = self.rng.integers(lowest, int(high) + 1, shape)
        return self.given(np.asarray(array).astype(getattr(ml_dtypes, dtype, dtype)), dims)

    def given(self, array: np.ndarray, dims: Sequence[int | str] | None = None) -> Value:
        """A new parameter of these values."""
        value = Value(array, tuple(array.shape if dims is None else dims))
        value.name = f"x{len(self.parameters)}"
        self.parameters.append(value)
        self.values.append(value)
        return value

    def private(self, array: np.ndarray, dims: Sequence[int | str] | None = None) -> Value:
        """A new parameter that no other rule takes."""
        value = self.given(array, dims)
        self.values.remove(value)
        return value

    def pick(self, fits: Callable[[Value], bool]) -> Value | None:
        """One of the values that fit, new ones more likely."""
        found = [value for value in self.values if fits(value)]
        if not found:
            return None
        return found[-1] if self.chance(0.5) else self.choice(found)

    def tensor(
        self,
        dtypes: Sequence[str] = FLOATS,
        low: int = 0,
        high: int = 4,
        *,
        exact: bool = False,
        within: tuple[float, float] | None = None,
        static: bool = False,
    ) -> Value:
        """A value of one of the dtypes and of a rank from low to high: an old or a new one."""

        def fits(value: Value) -> bool:
            array = value.array
            return (
                value.dtype in dtypes
                and low <= value.rank <= high
                and (value.exact or not exact)
                and not (static and any(isinstance(d, str) for d in value.dims))
                and (within is None or bool(np.all((array >= within[0]) & (array <= within[1]))))
            )

        found = self.pick(fits) if self.chance(0.85) else None
        if found is not None:
            return found
        dims = self.shape(self.dims(low, high)) if static else self.dims(low, high)
        lowest, highest = within or (-3, 3)
        return self.parameter(dims, self.choice(dtypes), lowest, highest)

    def like(self, value: Value, dtype: str | None = None, *, exact: bool = False) -> Value:
        """A value of the same shape, and of that dtype."""
        wanted = dtype or value.dtype

        def fits(other: Value) -> bool:
            same = other.dims == value.dims and other.dtype == wanted
            return same and (other.exact or not exact)

        return self.pick(fits) or self.parameter(value.dims, wanted)

    def broadcastable(self, value: Value, *, exact: bool = False) -> Value:
        """A value whose shape broadcasts with that of `value`."""
        if self.chance(0.5):
            return self.like(value, exact=exact)
        dims = value.dims[self.number(0, value.rank) :]
        dims = tuple(1 if self.chance(0.3) else dim for dim in dims)
        return self.parameter(dims, value.dtype)

    # -- operators ----------------------------------------------------------------------------
    def add(
        self,
        name: str,
        operands: Sequence[Any],
        result: np.ndarray | np.generic,
        dims: Sequence[int | str] | None = None,
        *,
        exact: bool = False,
        **attributes: Any,
    ) -> Value:
        """Add an operator that gives `result`; what is large or undefined is clipped behind it."""
        same = exact and all(value.exact for value in _values_of(operands))
        result = np.array(result)
        value = Value(result, tuple(result.shape if dims is None else dims), same)
        self.nodes.append(Node(name, operands, attributes, [value]))
        if value.dtype in HALVES and not same:
            return value  # rounded as the kernel likes: nothing can be said of what follows
        if is_tame(result):
            self.values.append(value)
        elif np.isfinite(result).all() and value.dtype not in HALVES:
            clipped = np.clip(result, -LIMIT, LIMIT).astype(result.dtype)
            self.add("clip", [value, -LIMIT, LIMIT], clipped, value.dims, exact=same)
        return value

    def add_tuple(
        self,
        name: str,
        operands: Sequence[Any],
        results: Sequence[np.ndarray],
        *,
        exact: bool = False,
        **attributes: Any,
    ) -> list[Value]:
        """Add an operator that gives several tensors."""
        same = exact and all(value.exact for value in _values_of(operands))
        values = [Value(np.asarray(r), tuple(r.shape), same) for r in results]
        self.nodes.append(Node(name, operands, attributes, values, tuple_result=True))
        self.values.extend(value for value in values if is_tame(value.array))
        return values

    def last(self, **changes: Any) -> Node:
        """The operator that was added last, with fields of it changed."""
        node = self.nodes[-1]
        for name, value in changes.items():
            setattr(node, name, value)
        return node


def _values_of(operands: Sequence[Any]) -> list[Value]:
    flat = [v for o in operands for v in (o if isinstance(o, list) else [o])]
    return [value for value in flat if isinstance(value, Value)]


def is_tame(array: np.ndarray) -> bool:
    """Whether further operators may compute with these values."""
    if "float" not in array.dtype.name:
        return True
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(array) <= LIMIT))


Rule = Callable[[Graph], None]
RULES: list[tuple[float, Rule]] = []
"""The rules with their weights."""


def rule(weight: float = 1.0) -> Callable[[Rule], Rule]:
    """Decorator: file a rule."""

    def register(function: Rule) -> Rule:
        RULES.append((weight, function))
        return function

    return register


def random_graph(seed: int, operators: int | None = None) -> Graph:
    """The graph of a seed: from 2 to 14 operators."""
    graph = Graph(np.random.default_rng(seed))
    weights = np.array([weight for weight, _ in RULES])
    weights /= weights.sum()
    count = graph.number(2, 12) if operators is None else operators
    with np.errstate(all="ignore"):
        for _ in range(count):
            RULES[int(graph.rng.choice(len(RULES), p=weights))][1](graph)
    return graph


# -- as a program ---------------------------------------------------------------------------------


def operator(name: str) -> Callable[..., Any]:
    """`relax.op.nn.relu` of "nn.relu"."""
    function: Any = operators
    for part in name.split("."):
        function = getattr(function, part)
    return function


@dataclass
class Function:
    """A graph as a function of a module: the values that it returns."""

    graph: Graph
    outputs: list[Value]


def emit(builder: relax.BlockBuilder, name: str, graph: Graph) -> Function:
    """Write a graph as a function; it returns up to four of its values, the last one among them."""
    params = {
        value: relax.Var(value.name, relax.TensorType(_type_dims(value.dims), value.dtype))
        for value in graph.parameters
    }
    made: dict[Value, Any] = dict(params)
    results = [value for node in graph.nodes for value in node.results if value.array.size < 4000]
    results = results or graph.parameters[:1]
    extra = [graph.choice(results) for _ in range(graph.number(0, 3))]
    outputs = list(dict.fromkeys([results[-1], *extra]))
    pure = all(node.pure for node in graph.nodes)
    flat = graph.chance(0.1) or not all(node.in_dataflow for node in graph.nodes)
    with builder.function(name, list(params.values()), pure=pure):
        with nullcontext() if flat else builder.dataflow():
            for node in graph.nodes:
                _emit_node(builder, node, made)
            final = [made[value] for value in outputs]
            visible = final if flat else [builder.emit_output(value) for value in final]
        builder.emit_func_output(visible[0] if len(visible) == 1 else relax.Tuple(visible))
    return Function(graph, outputs)


def _type_dims(dims: Sequence[int | str]) -> list[Any]:
    return [symbol_variable(d) if isinstance(d, str) else d for d in dims]


@cache
def symbol_variable(name: str) -> tir.Var:
    """The variable of a symbol."""
    return tir.Var(name, "int64")


def _emit_node(builder: relax.BlockBuilder, node: Node, made: dict[Value, Any]) -> None:
    def operand(value: Any) -> Any:
        if isinstance(value, Value):
            return made[value]
        if isinstance(value, list):
            return [operand(item) for item in value]
        if isinstance(value, tuple):  # a shape
            return relax.ShapeExpr(_type_dims(value))
        return value

    operands = [operand(value) for value in node.operands]
    if node.emit is not None:
        expr = node.emit(builder, operands)
    else:
        expr = operator(node.name)(*operands, **node.attributes)
    variable = builder.emit(expr)
    if not node.tuple_result:
        made[node.results[0]] = variable
        _check_type(node, variable, node.results[0])
        return
    for index, value in enumerate(node.results):
        made[value] = builder.emit(relax.TupleGetItem(variable, index))
        _check_type(node, made[value], value)


def _check_type(node: Node, variable: Any, value: Value) -> None:
    """What is inferred agrees with what numpy gave."""
    assert variable.dtype == value.dtype, f"{node.name}: {variable.dtype} is {value.dtype}"
    assert variable.ndim in (-1, value.rank), f"{node.name}: {variable.struct_info}"
    if variable.shape is None:
        return
    for dim, size in zip(variable.shape.dims, value.array.shape, strict=True):
        assert not isinstance(dim, int) or dim == size, f"{node.name}: {variable.struct_info}"


def build_module(graphs: Sequence[Graph]) -> tuple[IRModule, list[Function]]:
    """A module with a function `f0`, `f1` ... a graph."""
    builder = relax.BlockBuilder()
    functions = [emit(builder, f"f{i}", graph) for i, graph in enumerate(graphs)]
    return builder.finalize().verify(), functions
