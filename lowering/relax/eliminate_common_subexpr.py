"""relax-eliminate-common-subexpr."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    SEGMENTS,
    entry_block,
    is_pure,
    operations,
    purity,
    relax_functions,
)
from relax_mlir.mlir import ir

_NOT_CALLS = frozenset(
    "relax.bind relax.constant relax.tuple relax.tuple_get_item relax.shape_expr relax.prim_value "
    "relax.string relax.data_type relax.function_ref".split()
)


@register_pass("relax-eliminate-common-subexpr")
@dataclass(frozen=True)
class EliminateCommonSubexpr(Pass):
    """Compute equal expressions without effects once.

    `call_only` leaves tuples, shapes and other bindings that are no calls alone.
    """

    call_only: bool = False

    def run(self, state: ModuleState) -> None:
        pure = purity(state)

        def eligible(op: ir.Operation) -> bool:
            if op.name == "relax.bind" or len(op.regions):
                return False
            if op.name in _REGISTERED and not _only_tensors(op.results[0].type):
                return False  # two objects, which may change
            return is_pure(op, pure) and not (self.call_only and op.name in _NOT_CALLS)

        def visit(block: ir.Block, outer: dict[Hashable, ir.Operation]) -> None:
            known = dict(outer)
            for op in operations(block):
                if eligible(op):
                    first = known.setdefault(_key(op), op)
                    if first != op:
                        op.results[0].replace_all_uses_with(first.results[0])
                        op.erase()
                        continue
                for region in op.regions:
                    for inner in region.blocks:
                        visit(inner, known)

        for function in relax_functions(state):
            visit(entry_block(function), {})


_REGISTERED = ("relax.call_pure_packed", "relax.invoke_pure_closure")


def _only_tensors(kind: ir.Type) -> bool:
    fields = types.tuple_fields(kind)
    return types.is_tensor(kind) if fields is None else all(map(_only_tensors, fields))


def _key(op: ir.Operation) -> Hashable:
    attributes = tuple(
        (name, str(op.attributes[name])) for name in op.attributes if name not in SEGMENTS
    )
    kinds = tuple(str(result.type) for result in op.results)
    return (op.name, tuple(op.operands), attributes, kinds)
