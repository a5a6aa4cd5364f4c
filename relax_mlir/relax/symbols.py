"""Symbolic dimensions of Relax types: `tir` expressions outside, canonical text inside.

A symbol is its name: within one function, two `tir.Var`s of one name are the same dimension.
"""

from __future__ import annotations

import ast
import itertools
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.tir import expr as tir

_UNNAMED = (f"v_{number}" for number in itertools.count())
_VARS: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

# TVMScript in strings: "T.min(n, T.int64(4))".
_PREFIX = re.compile(r"\bT\.(?=\w)")
_LITERAL = re.compile(r"\bT\.int(?:32|64)\((-?\d+)\)")

_BINARY = {
    "Add": "({} + {})",
    "Sub": "({} - {})",
    "Mul": "({} * {})",
    "FloorDiv": "({} // {})",
    "FloorMod": "({} % {})",
    "Min": "min({}, {})",
    "Max": "max({}, {})",
    # Dimensions are not negative, where truncating and flooring division agree.
    "Div": "({} // {})",
    "Mod": "({} % {})",
    "EQ": "({} == {})",
    "NE": "({} != {})",
    "LT": "({} < {})",
    "LE": "({} <= {})",
    "GT": "({} > {})",
    "GE": "({} >= {})",
}


def to_dim(value: Any) -> Dim:
    """The canonical dimension of an int, a `tir` expression, or text such as `"n * 2"`.

    Raises TypeError for anything else.
    """
    if isinstance(value, bool):
        raise TypeError(f"a dimension is an integer or an expression, not {value!r}")
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return _canonical(_PREFIX.sub("", _LITERAL.sub(r"\1", value)))
    if isinstance(value, tir.CompareExpr):
        raise TypeError(f"a comparison is no dimension: {value}")
    if isinstance(value, tir.PrimExpr):
        return _canonical(_text(value))
    if hasattr(value, "__index__"):  # numpy and torch integers
        return int(value)
    dim = getattr(value, "dim", None)  # a relax.PrimValue
    if dim is not None:
        return dim
    if isinstance(value, TypeVar):  # TVM 0.27 declares symbols so, for Python's type checkers
        return _canonical(value.__name__)
    raise TypeError(
        f"a dimension is an integer or an expression, not a {type(value).__name__}: {value!r}"
    )


def to_value(value: Any) -> Dim:
    """The value of a scalar in canonical form: a dimension, or a comparison of dimensions."""
    return _canonical(_text(value)) if isinstance(value, tir.CompareExpr) else to_dim(value)


def to_dims(values: Iterable[Any]) -> tuple[Dim, ...]:
    if not isinstance(values, Iterable):
        raise TypeError(f"a shape is a sequence of dimensions, got {values!r}")
    return tuple(to_dim(value) for value in values)


def to_expr(dim: Dim) -> Any:
    """The `tir` expression (int64) of a dimension."""
    if isinstance(dim, int):
        return tir.IntImm("int64", dim)
    return _build(ast.parse(dim, mode="eval").body)


def symbol(name: str) -> Any:
    """The `tir.Var` (int64) of a symbol: the one the user made, if there is one."""
    var = _VARS.get(name)
    if var is None:
        var = tir.Var(name, "int64")
        _VARS[name] = var
    return var


def is_dim(value: Any) -> bool:
    """True for what may stand in a shape: integers and `tir` expressions."""
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, tir.PrimExpr)) or (
        hasattr(value, "__index__") and not hasattr(value, "shape")
    )


def _canonical(value: Dim) -> Dim:
    try:
        return dim_algebra.canonical(value)
    except (SyntaxError, ValueError) as error:
        raise TypeError(f"not a dimension: {value!r} ({error})") from None


def _text(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, tir.IntImm):
        return str(int(value.value))
    if isinstance(value, tir.Var):
        if not value.name:  # made where nobody could see what it is assigned to
            value.name = next(_UNNAMED)
        if value.dtype == "int64":
            _VARS[value.name] = value
        return value.name
    if kind == "Cast":
        return _text(value.value)
    if kind in _BINARY:
        return _BINARY[kind].format(_text(value.a), _text(value.b))
    raise TypeError(f"{kind} cannot stand in a dimension: {value}")


_BUILD: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
}
_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": tir.Min,
    "max": tir.Max,
    "equal": tir.EQ,
    "not_equal": tir.NE,
    "less": tir.LT,
    "less_equal": tir.LE,
}


def _build(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return tir.IntImm("int64", node.value)
    if isinstance(node, ast.Name):
        return symbol(node.id)
    if isinstance(node, ast.UnaryOp):
        return tir.IntImm("int64", 0) - _build(node.operand)
    if isinstance(node, ast.BinOp):
        return _BUILD[type(node.op)](_build(node.left), _build(node.right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS[node.func.id](*map(_build, node.args))
    raise TypeError(f"not a dimension: {ast.unparse(node)}")
