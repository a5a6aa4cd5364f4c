"""Symbolic sizes between expressions and the spelling of `dialects/dims.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relax_mlir.dialects import dims
from relax_mlir.errors import Error
from relax_mlir.tir import expr as E
from relax_mlir.tir import operators as O

_FUNCTIONS: dict[type[E.PrimExpr], str] = {
    E.FloorDiv: "floordiv",
    E.FloorMod: "floormod",
    E.Min: "min",
    E.Max: "max",
}
_INFIX: dict[type[E.PrimExpr], str] = {E.Add: "+", E.Sub: "-", E.Mul: "*"}


def dim_of(expr: E.PrimExpr, name_of: Callable[[E.Var], str] = lambda var: var.name) -> dims.Dim:
    """The dimension an integer expression stands for.  Raises Error if it cannot be a size."""

    def text(node: E.PrimExpr) -> str:
        if isinstance(node, E.IntImm):
            return str(node.value)
        if isinstance(node, E.Var):
            return name_of(node)
        if isinstance(node, E.Cast):
            return text(node.value)
        if isinstance(node, E.BinaryExpr) and type(node) in _INFIX:
            return f"({text(node.a)} {_INFIX[type(node)]} {text(node.b)})"
        if isinstance(node, E.BinaryExpr) and type(node) in _FUNCTIONS:
            return f"{_FUNCTIONS[type(node)]}({text(node.a)}, {text(node.b)})"
        raise Error(f"a size cannot be computed by {node}: +, -, *, //, %, min and max may be used")

    if isinstance(expr, E.IntImm):
        return expr.value
    return dims.canonical(text(expr))


def expr_of(dim: dims.Dim, symbols: Mapping[str, E.Var], dtype: str = "int64") -> E.PrimExpr:
    """The expression of a dimension over the given variables."""
    if isinstance(dim, int):
        return O.const(dim, dtype)
    functions = {"floordiv": O.floordiv, "floormod": O.floormod, "min": O.min, "max": O.max}
    # Dimensions were canonicalised: names, numbers, + - * and these four functions only.
    made = eval(str(dims.canonical(dim)), {"__builtins__": {}, **functions, **symbols})
    return E.as_expr(made)
