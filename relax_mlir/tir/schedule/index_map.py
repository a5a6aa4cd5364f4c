"""Index maps: how the elements (or iterations) of one space are named in another."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir import expr as E
from relax_mlir.tir.schedule.index import FUNCTIONS, Index

_ARITHMETIC: dict[type[E.BinaryExpr], Callable[[Index, Index], Index]] = {
    E.Add: lambda a, b: a + b,
    E.Sub: lambda a, b: a - b,
    E.Mul: lambda a, b: a * b,
    E.FloorDiv: FUNCTIONS["floordiv"],
    E.FloorMod: FUNCTIONS["mod"],
    # Indices are not negative, so that the truncating forms are the same.
    E.Div: FUNCTIONS["floordiv"],
    E.Mod: FUNCTIONS["mod"],
    E.Min: FUNCTIONS["min"],
    E.Max: FUNCTIONS["max"],
}


class IndexMap:
    """A map from initial to final indices, given by variables and expressions of them."""

    def __init__(self, initial_indices: Sequence[E.Var], final_indices: Sequence[Any]):
        self.initial_indices = list(initial_indices)
        self.final_indices = [E.as_expr(e) for e in final_indices]

    @classmethod
    def from_func(cls, mapping_function: Callable[..., Any], ndim: int | None = None) -> IndexMap:
        """The map of a Python function of `ndim` index variables (as many as it names).

        Raises Error when the function takes another number, or returns no indices.
        """
        names = _parameter_names(mapping_function, ndim)
        variables = [E.Var(name, "int32") for name in names]
        results = mapping_function(*variables)
        if not isinstance(results, (list, tuple)):
            results = [results]
        return cls(variables, results)

    @classmethod
    def of(cls, given: IndexMap | Callable[..., Any], ndim: int) -> IndexMap:
        """A map of `ndim` variables from a map or a function."""
        made = given if isinstance(given, IndexMap) else cls.from_func(given, ndim)
        if len(made.initial_indices) != ndim:
            raise Error(f"the index map takes {len(made.initial_indices)} indices, not {ndim}")
        return made

    def apply(
        self, indices: Sequence[Index], symbol: Callable[[str], Index | None] | None = None
    ) -> list[Index]:
        """The final indices of an element given by index expressions.

        `symbol` says what variables stand for that are none of the initial indices.  Raises Error
        for others, and for operations that are no index arithmetic.
        """
        values = dict(zip(self.initial_indices, indices, strict=True))
        return [_evaluate(e, values, symbol) for e in self.final_indices]

    def __str__(self) -> str:
        names = ", ".join(v.name for v in self.initial_indices)
        return f"lambda {names}: ({', '.join(map(str, self.final_indices))},)"

    __repr__ = __str__

    @classmethod
    def parse(cls, text: str) -> IndexMap:
        """The map that `str` wrote: `lambda i, j: (j // 8, i, j % 8)`.

        Only names, integers and arithmetic are read.  Raises Error for anything else.
        """
        tree = ast.parse(text, mode="eval").body
        if not isinstance(tree, ast.Lambda):
            raise Error(f"not an index map: {text}")
        variables = {a.arg: E.Var(a.arg, "int32") for a in tree.args.args}
        initial = list(variables.values())
        body = tree.body.elts if isinstance(tree.body, ast.Tuple) else [tree.body]
        return cls(initial, [_parsed(e, variables) for e in body])


def as_index_map(given: Any, ndim: int | None) -> Any:
    """A function as an IndexMap, so that a trace can print it.

    `ndim` is how many indices there are, for a function with `*indices`; without, it stays one.
    """
    if isinstance(given, IndexMap) or not callable(given):
        return given
    parameters = inspect.signature(given).parameters.values()
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return IndexMap.from_func(given)
    return given if ndim is None else IndexMap.from_func(given, ndim)


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _parsed(node: ast.expr, variables: dict[str, E.Var]) -> Any:
    if isinstance(node, ast.Name):
        # Other names are symbols of the function.
        return variables.setdefault(node.id, E.Var(node.id, "int32"))
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _parsed(node.left, variables), _parsed(node.right, variables)
        return _OPERATORS[type(node.op)](left, right)
    raise Error(f"no index arithmetic: {ast.unparse(node)}")


def _parameter_names(function: Callable[..., Any], ndim: int | None) -> list[str]:
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    if len(positional) != len(parameters):  # lambda *i
        if ndim is None:
            raise Error("an index map with *indices needs the number of dimensions")
        positional += [f"i{n}" for n in range(len(positional), ndim)]
    if ndim is not None and len(positional) != ndim:
        raise Error(f"the index map takes {len(positional)} indices, not {ndim}")
    return positional


def _evaluate(
    expr: E.PrimExpr,
    values: dict[E.Var, Index],
    symbol: Callable[[str], Index | None] | None,
) -> Index:
    if isinstance(expr, E.IntImm):
        return Index({}, expr.value)
    if isinstance(expr, E.Var) and expr in values:
        return values[expr]
    if isinstance(expr, E.Var):
        found = None if symbol is None else symbol(expr.name)
        if found is None:
            raise Error(f"{expr} is neither an index nor a symbol of the function")
        return found
    if isinstance(expr, E.Cast):
        return _evaluate(expr.value, values, symbol)
    if not isinstance(expr, E.BinaryExpr) or type(expr) not in _ARITHMETIC:
        raise Error(f"{expr} is no index arithmetic")
    left, right = (_evaluate(operand, values, symbol) for operand in (expr.a, expr.b))
    return _ARITHMETIC[type(expr)](left, right)
