"""Rules of what is not one operator: branches, functions called, TensorIR made from tensor
expressions, tuples, effects, values that only name others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import relax, te, tir
from relax_mlir.relax import op
from tests.fuzz.graphs import FLOATS, INTEGERS, Graph, Node, Value, rule, symbol_variable

ANY = (*FLOATS, *INTEGERS, "bool")

STEPS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "negative": (op.negative, np.negative),
    "abs": (op.abs, np.abs),
    "relu": (op.nn.relu, lambda x: np.maximum(x, 0)),
    "double": (lambda x: op.add(x, x), lambda x: x + x),
    "itself": (lambda x: x, lambda x: x),
    "maximum": (lambda x: op.maximum(x, op.negative(x)), lambda x: np.maximum(x, -x)),
}
"""Functions of one tensor that keep its shape."""


def _append(graph: Graph, node: Node) -> None:
    graph.nodes.append(node)
    graph.values.extend(node.results)


@rule(1.5)
def branches(graph: Graph) -> None:
    x = graph.tensor((*FLOATS, "int32", "int64"))
    condition = graph.parameter((), "bool")
    then, otherwise = graph.choice(list(STEPS)), graph.choice(list(STEPS))
    taken = then if condition.array else otherwise
    result = Value(STEPS[taken][1](x.array), x.dims, x.exact)

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        flag, value = operands
        return relax.If(flag, STEPS[then][0](value), STEPS[otherwise][0](value))

    _append(graph, Node("if", [condition, x], {}, [result], emit=emit, in_dataflow=False))


@rule(2)
def tensor_expressions(graph: Graph) -> None:
    """A TensorIR function of one or two inputs, made from a tensor expression."""
    x = graph.tensor((*FLOATS, "int32", "int64"), 1, 3, static=True)
    if not x.array.size:
        return
    kind = graph.choice(["scale", "reverse", "window", "columns", "transpose"])
    factor = graph.number(2, 3)
    makers: dict[str, Callable[[Any], Any]] = {
        "scale": lambda a: te.compute(a.shape, lambda *i: a(*i) * factor + 1),
        "reverse": lambda a: te.compute(a.shape, lambda i, *r: a(a.shape[0] - 1 - i, *r)),
        "window": _window,
        "columns": _column_sums,
        "transpose": lambda a: te.compute(a.shape[::-1], lambda *i: a(*i[::-1])),
    }
    references: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "scale": lambda a: a * a.dtype.type(factor) + a.dtype.type(1),
        "reverse": lambda a: a[::-1].copy(),
        "window": lambda a: np.maximum(a, np.concatenate([a[1:], a[-1:]])),
        "columns": lambda a: a.sum(0, dtype=a.dtype),
        "transpose": lambda a: a.transpose().copy(),
    }
    array = references[kind](x.array)
    exact = x.exact and (x.dtype[0] == "i" or kind in ("reverse", "window", "transpose"))
    result = Value(array, tuple(array.shape), exact)

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        return builder.call_te(makers[kind], operands[0], primfunc_name_hint=kind)

    _append(graph, Node(f"te.{kind}", [x], {}, [result], emit=emit))


def _window(a: Any) -> Any:
    last = a.shape[0] - 1
    return te.compute(a.shape, lambda i, *r: tir.max(a(i, *r), a(tir.min(i + 1, last), *r)))


def _column_sums(a: Any) -> Any:
    k = te.reduce_axis((0, a.shape[0]), "k")
    return te.compute(a.shape[1:], lambda *i: te.sum(a(k, *i), axis=k))


@rule()
def tuples(graph: Graph) -> None:
    """Values that go through a tuple, nested or not."""
    x, y = graph.tensor(ANY), graph.tensor(ANY)
    nested = graph.chance(0.3)
    results = [Value(v.array, v.dims, v.exact) for v in (x, y)]

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        if not nested:
            return relax.Tuple(operands)
        outer = builder.emit(relax.Tuple([relax.Tuple(operands), operands[0]]))
        return relax.TupleGetItem(outer, 0)

    _append(graph, Node("tuple", [x, y], {}, results, tuple_result=True, emit=emit))


@rule(0.7)
def marked(graph: Graph) -> None:
    """Operators that say something of a value and leave it as it is."""
    x = graph.tensor(ANY)
    name = graph.choice([
        "grad.start_checkpoint", "grad.end_checkpoint", "hint_on_device", "to_vdevice",
    ])  # fmt: skip
    graph.add(name, [x], x.array, x.dims, exact=True, **_DEVICE.get(name, {}))


_DEVICE = {"hint_on_device": {"dst_vdevice": "llvm"}, "to_vdevice": {"dst_vdevice": "llvm"}}


@rule(0.5)
def assertions(graph: Graph) -> None:
    x = graph.tensor(ANY)
    true = graph.private(np.array(True))

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        builder.emit(op.assert_op(operands[0], [operands[1]], format="{}"))
        return operands[1]

    result = Value(x.array, x.dims, x.exact)
    _append(graph, Node("assert_op", [true, x], {}, [result], emit=emit, in_dataflow=False,
                        pure=False))  # fmt: skip


@rule(0.7)
def casts_of_shape(graph: Graph) -> None:
    """Sizes that are known again behind a match_cast."""
    x = graph.tensor(ANY, 1)
    dims = tuple(graph.symbol(size) for size in x.array.shape)
    result = Value(x.array, dims, x.exact)

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        kind = relax.TensorType([symbol_variable(name) for name in dims], x.dtype)
        return builder.match_cast(operands[0], kind)

    _append(graph, Node("match_cast", [x], {}, [result], emit=emit))


@rule(0.7)
def shapes_as_values(graph: Graph) -> None:
    """Shapes that are read from tensors, joined, and given to reshape."""
    x = graph.tensor(ANY, 1)
    kind = graph.choice(["shape_of", "broadcast_shapes", "tensor_to_shape"])
    if kind == "tensor_to_shape":
        sizes = graph.private(np.array([x.array.size, 1], "int64"))
        node = Node(kind, [x, sizes], {}, [Value(x.array.reshape(-1, 1), (), x.exact)])
        node.emit = lambda builder, v: op.reshape(v[0], builder.emit(op.tensor_to_shape(v[1])))
        graph.nodes.append(node)  # nothing follows: its sizes are unknown
        return

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        shape = builder.emit(op.shape_of(operands[0]))
        if kind == "broadcast_shapes":
            shape = builder.emit(op.broadcast_shapes([shape, shape]))
        return op.broadcast_to(op.zeros(shape, x.dtype), shape)

    _append(graph, Node(kind, [x], {}, [Value(np.zeros_like(x.array), x.dims)], emit=emit))


@rule(1.5)
def called_functions(graph: Graph) -> None:
    """A function of the module that gives some of: its arguments, what it computes of them, a
    branch on them."""
    x = graph.tensor((*FLOATS, "int32", "int64"))
    flag = graph.parameter((), "bool")
    step, other = graph.choice(list(STEPS)), graph.choice(list(STEPS))
    kinds = [graph.choice(["argument", "step", "branch"]) for _ in range(graph.number(2, 3))]
    private = graph.chance(0.7)
    arrays = {
        "argument": x.array,
        "step": STEPS[step][1](x.array),
        "branch": STEPS[step if flag.array else other][1](x.array),
    }
    results = [Value(arrays[kind], x.dims, x.exact) for kind in kinds]

    def emit(builder: relax.BlockBuilder, operands: list[Any]) -> Any:
        # A parameter of n * 2 elements says nothing of n: such sizes are left to run time.
        sizes = operands[0].struct_info.dims or ()
        derived = any(isinstance(size, str) and not size.isidentifier() for size in sizes)
        unknown = relax.TensorType(None, x.dtype, x.rank)
        p = relax.Var("p", unknown if derived else operands[0].struct_info)
        c = relax.Var("c", operands[1].struct_info)
        inner = relax.BlockBuilder()
        with inner.function("g", [p, c], private=private):
            made: dict[str, Any] = {"argument": p}
            made["step"] = inner.emit(STEPS[step][0](p))
            if "branch" in kinds:
                made["branch"] = inner.emit(relax.If(c, made["step"], STEPS[other][0](p)))
            inner.emit_func_output(relax.Tuple([made[kind] for kind in kinds]))
        function = builder.add_func(inner.get()["g"], "g")
        if not derived:
            return relax.Call(function, operands)
        fields = builder.emit(relax.Call(function, operands))
        kind = operands[0].struct_info
        found = [relax.TupleGetItem(fields, i) for i in range(len(kinds))]
        return relax.Tuple([builder.match_cast(builder.emit(field), kind) for field in found])

    _append(graph, Node("call", [x, flag], {}, results, tuple_result=True, emit=emit))
