"""Affine maps taken apart: the bindings' expressions are slow to walk, and few maps are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from relax_mlir.mlir import ir


class Constant(NamedTuple):
    """A number."""

    value: int


class Applied(NamedTuple):
    """`add`, `mul`, `mod`, `floordiv` or `ceildiv` of two forms."""

    function: str
    left: Form
    right: Form


Form: TypeAlias = "int | Constant | Applied"
"""An operand of the map by its number, symbols after dimensions, or what is made of operands."""


@lru_cache(maxsize=4096)
def affine_form(affine_map: ir.Attribute) -> Form:
    """The only result of a map; attributes are unique in the context."""
    value = ir.AffineMapAttr(affine_map).value
    return _form(value.results[0], value.n_dims)


def _form(expr: Any, n_dims: int) -> Form:
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineConstantExpr):
        return Constant(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return expr.position
    if isinstance(expr, ir.AffineSymbolExpr):
        return n_dims + expr.position
    return Applied(_FUNCTIONS[type(expr)], _form(expr.lhs, n_dims), _form(expr.rhs, n_dims))


_FUNCTIONS: dict[type, str] = {
    ir.AffineAddExpr: "add",
    ir.AffineMulExpr: "mul",
    ir.AffineModExpr: "mod",
    ir.AffineFloorDivExpr: "floordiv",
    ir.AffineCeilDivExpr: "ceildiv",
}

_Value = TypeVar("_Value")


def evaluate(
    form: Form,
    operands: Sequence[_Value],
    constant: Callable[[int], _Value],
    functions: Mapping[str, Callable[[_Value, _Value], _Value]],
) -> _Value:
    """What a map computes of its operands, by the functions of each name."""
    if isinstance(form, int):
        return operands[form]
    if isinstance(form, Constant):
        return constant(form.value)
    left = evaluate(form.left, operands, constant, functions)
    right = evaluate(form.right, operands, constant, functions)
    return functions[form.function](left, right)
