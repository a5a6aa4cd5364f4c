"""Helpers that programs written against TVM's `relax.utils` use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.ir.function import BaseFunc
from relax_mlir.relax.emit_te import call_te_arguments
from relax_mlir.relax.expr import Expr, PrimValue, Tuple, as_expr
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import StructInfo

__all__ = ["convert_to_expr", "copy_with_new_vars", "gen_call_tir_inputs", "metadata_partitioner"]


def convert_to_expr(value: Any) -> Expr:
    """A Python value as an expression: numbers, strings, and tuples and lists of such.

    Raises TypeError for what is no expression.
    """
    if isinstance(value, (tuple, list)):
        return Tuple([convert_to_expr(item) for item in value])
    if isinstance(value, (bool, int, float)):
        return PrimValue(value)
    return as_expr(value)


def copy_with_new_vars(func: Function) -> Function:
    """A function that shares no variable with `func`."""
    copy = func.clone()
    assert isinstance(copy, Function)
    return copy


def gen_call_tir_inputs(
    func: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[BaseFunc, Expr, list[StructInfo], Any]:
    """What `call_tir` takes for a te function of Relax arguments: the TensorIR function, its
    arguments, the types of its results, and the sizes it takes besides (or None).

    `primfunc_attrs` among the keywords are attributes of the function.
    """
    made = call_te_arguments(func, args, kwargs)
    return made.function, Tuple(made.arguments), made.outputs, made.tir_vars


def metadata_partitioner(rx_txt: str) -> list[str]:
    """[program, metadata] of a text that begins with metadata in curly braces.

    Raises ValueError when there is none.
    """
    start, depth = rx_txt.find("{"), 0
    for index in range(max(start, 0), len(rx_txt)):
        depth += {"{": 1, "}": -1}.get(rx_txt[index], 0)
        if start >= 0 and depth == 0:
            return [rx_txt[index + 1 :], rx_txt[start : index + 1]]
    raise ValueError("the text has no metadata: nothing in curly braces")
