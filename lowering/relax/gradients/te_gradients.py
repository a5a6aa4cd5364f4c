"""Gradients of `relax.call_tir_with_grad`: tensor expressions that are registered by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.rewriting import OperatorWriter
from relax_mlir.lowering.relax_to_tir.operands import call_te
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.mlir import ir

__all__ = ["TE_GRADIENTS", "te_gradient"]

TE_GRADIENTS: dict[str, Callable[..., Any]] = {}
"""Functions `(output gradients ..., arguments ..., **te_grad_kwargs) -> te tensors`, one result an
argument, by the name that calls have as `te_grad_name`."""


def te_gradient(
    op: ir.Operation, grads: Sequence[ir.Value], before: ir.Operation, state: ModuleState
) -> list[ir.Value]:
    """The gradients of a call's arguments, computed in front of `before`.

    Raises PassError for a name that is not registered, or a function that gives another number.
    """
    name = ir.StringAttr(op.attributes["te_grad_name"]).value
    function = TE_GRADIENTS.get(name)
    if function is None:
        raise PassError(
            f"no gradient is registered as '{name}'",
            hint="register it: relax.training.utils.register_te_gradient",
        )
    options = from_attribute(op.attributes["te_grad_kwargs"]) or {}
    values = list(op.operands)

    def compute(*tensors: Any) -> list[Any]:
        made = function(*tensors, **options)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(made) != len(values):
            raise PassError(
                f"the gradient '{name}' gave {len(made)} tensors for {len(values)} arguments"
            )
        return made

    kinds = [value.type for value in values]
    result = call_te(before, name, compute, [*grads, *values], kinds, state, PrimFuncs(state))
    fields = types.tuple_fields(result.type)
    if fields is None:
        return [result]
    write = OperatorWriter(before)
    return [write.field(result, i) for i in range(len(fields))]
