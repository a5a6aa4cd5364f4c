"""relax-rewrite-dataflow-reshape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import SPECS, build
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    callee_of,
    is_private,
    prim_functions,
    references,
    relax_functions,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.reshape_pattern import is_reshape
from relax_mlir.lowering.relax.rewriting import replace
from relax_mlir.mlir import ir

_WRITERS = frozenset(
    "relax.call_tir_inplace relax.call_inplace_packed relax.vm_call_tir_dyn".split()
)
"""Calls that write into tensors they are given."""


@register_pass("relax-rewrite-dataflow-reshape")
@dataclass(frozen=True)
class RewriteDataflowReshape(Pass):
    """Write calls of TensorIR functions that only copy in order as `relax.reshape`.

    Host code reads the memory of the tensor under the other shape and copies nothing.  Functions
    that nobody calls any more are removed; those that change tensors in place are left alone.
    """

    def run(self, state: ModuleState) -> None:
        kernels = prim_functions(state)
        known: dict[str, bool] = {}
        bodies = [list(walk(function)) for function in relax_functions(state)]
        writes = any(_writes(op, kernels) for body in bodies for op in body)
        for inside in bodies:
            if writes and any(op.name == "relax.call" or _writes(op, kernels) for op in inside):
                continue  # a copy may be there to keep what is overwritten
            for op in inside:
                if op.name != "relax.call_tir" or len(op.operands) != 1:
                    continue
                name = callee_of(op)
                if name not in known:
                    known[name] = name in kernels and is_reshape(kernels[name])
                if known[name]:
                    _rewrite(op)
        used = set[str]().union(*(references(f) for f in state.functions()))
        for function in list(prim_functions(state).values()):
            name = symbol_name(function)
            if known.get(name) and is_private(function) and name not in used:
                function.erase()


def _writes(op: ir.Operation, kernels: Mapping[str, ir.Operation]) -> bool:
    return op.name in _WRITERS or (op.name == "relax.call" and callee_of(op) in kernels)


def _rewrite(op: ir.Operation) -> None:
    info, source = (types.tensor_info(v.type) for v in (op.results[0], op.operands[0]))
    if info is None or info.dims is None or source is None:
        return
    if info.dtype != source.dtype:  # signed as unsigned: the bytes are the same
        return
    with ir.InsertionPoint(op):
        shape = create("relax.shape_expr", [types.shape_type(info.dims)]).result
        made = build(SPECS["reshape"], [op.operands[0], shape], {}, loc=op.location)
    replace(op, made)
