"""relax-normalize."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import (
    InferError,
    attributes_of,
    infer_result,
    operand_groups,
    spec_of,
)
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    entry_block,
    operations,
    relax_functions,
    terminator,
)
from relax_mlir.lowering.relax.substitute import returned_types, set_function_type
from relax_mlir.mlir import ir


@register_pass("relax-normalize")
@dataclass(frozen=True)
class Normalize(Pass):
    """Infer every type again from what it is computed from, and keep what is known better.

    The program is in A-normal form by construction; types become stale where a pass made operands
    more precise (`relax-bind-symbolic-vars`, or a shape that was unknown).
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            _normalize_block(entry_block(function))
            set_function_type(function, returned_types(function))


def _normalize_block(block: ir.Block) -> None:
    for op in operations(block):
        for region in op.regions:
            for inner in region.blocks:
                _normalize_block(inner)
        inferred = _inferred(op)
        for result, kind in zip(op.results, inferred, strict=False):
            better = refine(result.type, kind)
            if better != result.type:
                result.set_type(better)


def infer_again(block: ir.Block) -> None:
    """Set every type to what its operands tell, forgetting what was known before."""
    for op in operations(block):
        for region in op.regions:
            for inner in region.blocks:
                infer_again(inner)
        for result, kind in zip(op.results, _inferred(op), strict=False):
            result.set_type(kind)


def _inferred(op: ir.Operation) -> list[ir.Type]:
    """What the results of an operation are, as far as its operands tell."""
    if op.name == "relax.dataflow":
        return [value.type for value in terminator(op.regions[0].blocks[0]).operands]
    if op.name == "relax.bind":
        return [op.operands[0].type]
    if op.name == "relax.tuple":
        return [types.tuple_type([value.type for value in op.operands])]
    if op.name == "relax.tuple_get_item":
        fields = types.tuple_fields(op.operands[0].type) or []
        return [fields[ir.IntegerAttr(op.attributes["index"]).value]]
    spec = spec_of(op)
    if spec is None:
        return []
    kinds = [
        [value.type for value in group]
        if isinstance(group, list)
        else None
        if group is None
        else group.type
        for group in operand_groups(op)
    ]
    try:
        return [infer_result(spec, kinds, attributes_of(op))]
    except InferError:
        return []  # the verifier says why


def refine(old: ir.Type, new: ir.Type) -> ir.Type:
    """All that is known when a value has both types; `old` when they contradict each other."""
    if old == new or types.conflict(old, new) is not None:
        return old
    fields, new_fields = types.tuple_fields(old), types.tuple_fields(new)
    if fields is not None and new_fields is not None:
        return types.tuple_type([refine(a, b) for a, b in zip(fields, new_fields, strict=True)])
    info, found = types.tensor_info(old), types.tensor_info(new)
    if info is None or found is None:
        return new if str(old) == "!relax.object" else old
    dims = info.dims if found.dims is None else found.dims
    return types.tensor_type(dims, info.dtype or found.dtype, max(info.ndim, found.ndim))
