"""relax-fuse-tir."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.canonicalize_bindings import canonicalize_function
from relax_mlir.lowering.relax.dead_code_elimination import DeadCodeElimination
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    callee_of,
    is_private,
    prim_functions,
    relax_functions,
    symbol_name,
)
from relax_mlir.lowering.relax.fused_body import FusedBody, Unsupported, read_body
from relax_mlir.lowering.relax.fused_prim_func import build_prim_function
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-fuse-tir")
@dataclass(frozen=True)
class FuseTIR(Pass):
    """Turn each primitive Relax function into one TensorIR function.

    The bodies of the functions it calls follow one another; what passes between them is allocated
    inside (`matmul_intermediate`).  Calls become `relax.call_tir`; then what no public function
    needs any more is removed.
    """

    def run(self, state: ModuleState) -> None:
        fused: dict[str, FusedBody] = {}
        for function in relax_functions(state):
            if "Primitive" not in attributes_of_function(function):
                continue
            try:
                body = read_body(function)
                build_prim_function(state, function, body, prim_functions(state))
            except Unsupported:
                # Stays a Relax function: as correct, only not one kernel.
                continue
            fused[symbol_name(function)] = body
            function.erase()
        if not fused:
            return
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.call"]):
                if callee_of(op) in fused:
                    _call_kernel(op)
            canonicalize_function(function)
        if any(not is_private(function) for function in state.functions()):
            DeadCodeElimination().run(state)


def _call_kernel(op: ir.Operation) -> None:
    """Replace a `relax.call` of a fused function by `relax.call_tir`."""
    arguments: list[ir.Value] = []
    shapes: list[ir.Value] = []
    with ir.InsertionPoint(op), op.location:
        for value in op.operands:
            is_shape = types.shape_info(value.type) is not None
            (shapes if is_shape else arguments).extend(_fields(value))
        call = create(
            "relax.call_tir",
            results=[op.results[0].type],
            operands=[*arguments, *shapes],
            attributes={"callee": ir.FlatSymbolRefAttr.get(callee_of(op))},
            loc=op.location,
        )
    op.results[0].replace_all_uses_with(call.result)
    op.erase()


def _fields(value: ir.Value) -> list[ir.Value]:
    """A tensor or shape as it is, a tuple as its fields."""
    fields = types.tuple_fields(value.type)
    if fields is None:
        return [value]
    i64 = ir.IntegerType.get_signless(64)
    found: list[ir.Value] = []
    for i, kind in enumerate(fields):
        attributes = {"index": ir.IntegerAttr.get(i64, i)}
        item = create("relax.tuple_get_item", [kind], [value], attributes)
        found.extend(_fields(item.result))
    return found
