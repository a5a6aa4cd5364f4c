"""relax-static-plan-block-memory."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims, dtypes
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import entry_block, relax_functions, walk
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.lowering.relax_to_host.liveness import Liveness
from relax_mlir.lowering.relax_to_host.workspace import (
    Placement,
    Temporary,
    WorkspacePlan,
    plan_workspace,
)
from relax_mlir.mlir import ir

PLAN = "relax.memory_plan"
PLACES = "relax.places"


@register_pass("relax-static-plan-block-memory")
@dataclass(frozen=True)
class StaticPlanBlockMemory(Pass):
    """Show where each intermediate tensor will lie in its function's workspace.

    Calls that make temporaries get `relax.places`, one entry an output: its byte offset in the
    static part, or `[token, offset]` for a size that depends on symbols.  The function gets
    `relax.memory_plan`: the bytes of the static part, the size expression of each token, and the
    bytes that all temporaries would take without sharing.  `relax-to-host` makes this same plan.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            temporaries = _temporaries(function)
            plan = plan_workspace(temporaries)
            _annotate_calls(function, plan)
            if not plan.empty:
                function.attributes[PLAN] = to_attribute(
                    {
                        "static_bytes": plan.static_size,
                        "tokens": [str(size) for size in plan.tokens],
                        "unshared_bytes": str(_total(temporaries)),
                    }
                )


def _temporaries(function: ir.Operation) -> list[Temporary]:
    """The outputs of calls that do not leave the function, with the time they are alive."""
    liveness = Liveness(function)
    known = {s for a in entry_block(function).arguments for s in bound_symbols(a.type)}
    found: list[Temporary] = []
    for op in walk(function):
        if op.name != "relax.call_tir" or liveness.escapes(op.results[0]):
            continue
        result = op.results[0]
        first, last = liveness.position(op), liveness.last_use(result)
        for index, kind in enumerate(types.tuple_fields(result.type) or [result.type]):
            size = _size_in_bytes(kind)
            # A size that is not known on entry cannot be part of the workspace.
            if size is not None and set(dims.symbols(size)) <= known:
                found.append(Temporary((result, index), size, first, last))
    return found


def _size_in_bytes(kind: ir.Type) -> dims.Dim | None:
    info = types.tensor_info(kind)
    if info is None or info.dims is None or info.dtype is None:
        return None
    count, bits = dims.product(info.dims), dtypes.bits(info.dtype)
    if bits % 8 == 0:
        return dims.multiply(count, bits // 8)
    return dims.floordiv(dims.add(dims.multiply(count, bits), 7), 8)


def _annotate_calls(function: ir.Operation, plan: WorkspacePlan) -> None:
    for op in walk(function):
        if op.name != "relax.call_tir":
            continue
        result = op.results[0]
        count = len(types.tuple_fields(result.type) or [result.type])
        places = [plan.places.get((result, index)) for index in range(count)]
        if any(place is not None for place in places):
            op.attributes[PLACES] = ir.ArrayAttr.get([_place(place) for place in places])


def _place(place: Placement | None) -> ir.Attribute:
    if place is None:
        return ir.UnitAttr.get()
    if place.token is None:
        return to_attribute(place.offset)
    return to_attribute([place.token, place.offset])


def _total(temporaries: list[Temporary]) -> dims.Dim:
    total: dims.Dim = 0
    for temporary in temporaries:
        total = dims.add(total, temporary.size)
    return total
