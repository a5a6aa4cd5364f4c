"""`layout_transform`, whose index map is a Python function of the indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import Error
from relax_mlir.mlir import ir
from relax_mlir.relax.expr import Call, Op, as_expr
from relax_mlir.tir import expr as tir
from relax_mlir.tir.schedule.index_map import IndexMap

_ARITHMETIC: dict[type, str] = {
    tir.Add: "({} + {})",
    tir.Sub: "({} - {})",
    tir.Mul: "({} * {})",
    tir.FloorDiv: "({} floordiv {})",
    tir.FloorMod: "({} mod {})",
    # Indices are not negative, so that the truncating forms are the same.
    tir.Div: "({} floordiv {})",
    tir.Mod: "({} mod {})",
}


def affine_map(index_map: Any, rank: int) -> ir.AffineMapAttr:
    """The MLIR attribute of an index map of `rank` indices.  Raises Error for other arithmetic
    than sums, and products, quotients and remainders by constants."""
    with mlir.scope():
        if isinstance(index_map, ir.AffineMapAttr):
            return index_map
        made = IndexMap.of(index_map, rank)
        names = {v: f"d{i}" for i, v in enumerate(made.initial_indices)}
        results = ", ".join(_text(e, names) for e in made.final_indices)
        text = f"affine_map<({', '.join(names.values())}) -> ({results})>"
        try:
            return ir.AffineMapAttr(ir.Attribute.parse(text))
        except ir.MLIRError:
            raise Error(f"an index map is quasi-affine, this one is not: {made}") from None


def _text(expr: Any, names: dict[tir.Var, str]) -> str:
    known = names.get(expr) if isinstance(expr, tir.Var) else None
    if known is not None:
        return known
    if isinstance(expr, (tir.IntImm, tir.Cast)):
        return str(expr.value) if isinstance(expr, tir.IntImm) else _text(expr.value, names)
    form = _ARITHMETIC.get(type(expr))
    if form is None or isinstance(expr, tir.Var):
        raise Error(f"{expr} is no index arithmetic")
    return form.format(_text(expr.a, names), _text(expr.b, names))


def layout_transform(
    x: Any,
    index_map: Any,
    pad_value: Any = None,
    axis_separators: Sequence[Any] | None = None,
    input_axis_separators: Sequence[Any] | None = None,
) -> Call:
    """The tensor in another layout: element `index_map(*i)` of it is element `i` of `x`.

    `index_map` is a function (`lambda i, j: (j // 4, i, j % 4)`) or a `tir.IndexMap`; elements
    that no element of `x` becomes are `pad_value`.
    """
    operand = as_expr(x)
    if operand.ndim < 0:
        raise Error("layout_transform needs a tensor of known rank")
    attributes = {
        "index_map": affine_map(index_map, operand.ndim),
        "pad_value": _number(pad_value),
        "axis_separators": [int(axis) for axis in axis_separators or []],
        "input_axis_separators": [int(axis) for axis in input_axis_separators or []],
    }
    return Call(Op.get("relax.layout_transform"), [operand], attributes)


def _number(value: Any) -> Any:
    """A pad value given as a number, a `relax.PrimValue` or a `tir` constant."""
    inner = getattr(value, "value", value)
    return getattr(inner, "value", inner)


FUNCTIONS: dict[str, Callable[..., Any]] = {"layout_transform": layout_transform}
"""Operator name -> the function that calls it."""
