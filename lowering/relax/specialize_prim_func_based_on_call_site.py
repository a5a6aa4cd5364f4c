"""relax-specialize-prim-func-based-on-call-site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.errors import PassError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    argument_attributes,
    attributes_of_function,
    call_tir_operands,
    callee_of,
    copy_function,
    is_private,
    prim_functions,
    relax_functions,
    set_function_attributes,
    symbol_name,
    walk,
)
from relax_mlir.mlir import ir

_GLOBAL = "global"


@register_pass("relax-specialize-prim-func-based-on-call-site")
@dataclass(frozen=True)
class SpecializePrimFuncBasedOnCallSite(Pass):
    """Give the buffers of TensorIR functions the memory scopes of the tensors they are called on.

    The scope of a tensor is that of its virtual device (`"opencl:0:global.texture"`), "global"
    where its type names none.  A function that is called on tensors of different scopes, or that
    others may call, gets a copy for each; functions that were looked at have the attribute
    `scoped`.
    """

    def run(self, state: ModuleState) -> None:
        kernels = prim_functions(state)
        uses: dict[str, dict[tuple[str, ...], list[ir.Operation]]] = {}
        for function in relax_functions(state):
            if attributes_of_function(function).get("Primitive"):
                continue
            for op in walk(function):
                if op.name == "relax.call_tir" and callee_of(op) in kernels:
                    uses.setdefault(callee_of(op), {}).setdefault(_scopes(op), []).append(op)
        for name, variants in uses.items():
            kernel = kernels[name]
            first, *others = variants
            if not is_private(kernel) and set(first) != {_GLOBAL}:
                others = [first, *others]
            else:
                _give_scopes(kernel, first)
            for scopes in others:
                copy = copy_function(state, kernel)
                _give_scopes(copy, scopes)
                for op in variants[scopes]:
                    op.attributes["callee"] = ir.FlatSymbolRefAttr.get(symbol_name(copy))


def _scopes(op: ir.Operation) -> tuple[str, ...]:
    """The scopes of the tensors that a call reads and writes."""
    arguments, _ = call_tir_operands(op)
    kinds = [value.type for value in arguments] + outputs_of(op.results[0].type)
    return tuple(_scope(kind) for kind in kinds)


def _scope(kind: ir.Type) -> str:
    info = types.tensor_info(kind)
    if info is None or info.place[:1] != ("vdevice",):
        return _GLOBAL
    return info.place[1].split(":", 2)[2] if info.place[1].count(":") == 2 else _GLOBAL


def _give_scopes(kernel: ir.Operation, scopes: Sequence[str]) -> None:
    described = argument_attributes(kernel)
    if len(described) < len(scopes):
        raise PassError(
            f"'{symbol_name(kernel)}' takes {len(described)} arguments, it is called with "
            f"{len(scopes)} tensors"
        )
    for attributes, scope in zip(described, scopes, strict=False):
        attributes.pop("tir.scope", None)
        if scope != _GLOBAL:
            attributes["tir.scope"] = ir.StringAttr.get(scope)
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in described])
    set_function_attributes(kernel, {**attributes_of_function(kernel), "scoped": 1})
