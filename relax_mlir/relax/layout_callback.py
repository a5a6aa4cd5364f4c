"""Layouts that a user's function chooses, call by call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.conversion import convert
from relax_mlir.mlir import ir
from relax_mlir.relax.reader import FunctionReader

__all__ = ["convert_layouts"]


def convert_layouts(mod: IRModule, layout_cb: Callable[..., Any]) -> IRModule:
    """The module with each call that has layouts computed in those that `layout_cb(call)` gives for
    its operator: `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`; an operator that is not among them stays.

    Raises PassError when the function gives no dictionary.
    """
    copy = mod.clone()
    with mlir.scope():
        for function in relax_functions(copy.state):
            reader = FunctionReader(function, copy.state.constants)
            chosen: dict[ir.Value, Sequence[str]] = {}
            for op in walk(function):
                spec = spec_of(op)
                if spec is None or "data_layout" not in attributes_of(op):
                    continue
                layouts = _asked(layout_cb, reader.expression(op)).get(f"relax.{spec.name}")
                if layouts is not None:
                    chosen[op.results[0]] = list(layouts)
            convert(function, copy.state, lambda op, chosen=chosen: _of(op, chosen))
    return copy


def _of(op: ir.Operation, chosen: Mapping[ir.Value, Sequence[str]]) -> Sequence[str] | None:
    return chosen.get(op.results[0]) if len(op.results) == 1 else None


def _asked(layout_cb: Callable[..., Any], call: Any) -> Mapping[str, Sequence[str]]:
    given = layout_cb(call)
    if not isinstance(given, Mapping):
        raise PassError(
            f"layout_cb gives a {type(given).__name__} for {call.op.name}",
            hint='give a dictionary such as {"relax.nn.conv2d": ["NHWC", "OHWI"]}, or an empty one',
        )
    return given
