"""relax-static-plan-block-memory."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects import dims
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    entry_block,
    prim_functions,
    relax_functions,
    walk,
)
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.lowering.relax.lower_alloc_tensor import (
    ALLOCATE,
    StorageNames,
    make_storage,
    place_in,
)
from relax_mlir.lowering.relax.rewriting import defining
from relax_mlir.lowering.relax_to_host.liveness import Liveness
from relax_mlir.lowering.relax_to_host.workspace import (
    Placement,
    Temporary,
    WorkspacePlan,
    plan_workspace,
    temporaries,
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

    Behind `relax-call-tir-rewrite` tensors are allocated by operations: those that stay inside the
    function then get a `relax.memory_alloc_storage`, which tensors that are never alive together
    share.
    """

    def run(self, state: ModuleState) -> None:
        kernels = frozenset(prim_functions(state))
        for function in relax_functions(state):
            _share_storage(function, kernels)
            kept = _temporaries(function, kernels)
            plan = plan_workspace(kept)
            _annotate_calls(function, plan)
            if not plan.empty:
                function.attributes[PLAN] = to_attribute(
                    {
                        "static_bytes": plan.static_size,
                        "tokens": [str(size) for size in plan.tokens],
                        "unshared_bytes": str(_total(kept)),
                    }
                )


def _temporaries(function: ir.Operation, kernels: frozenset[str]) -> list[Temporary]:
    bound = {s for a in entry_block(function).arguments for s in bound_symbols(a.type)}
    liveness = Liveness(function, kernels)
    return temporaries(function, liveness, lambda size: bound.issuperset(dims.symbols(size)))


def _share_storage(function: ir.Operation, kernels: frozenset[str]) -> None:
    """Tensors of the function's body that stay inside take over the storage of earlier ones."""
    liveness = Liveness(function, kernels)
    found: list[tuple[ir.Operation, Dim, int, int]] = []
    for view in entry_block(function).operations:
        op = view.operation
        if op.name != ALLOCATE or defining(op.operands[0], "relax.shape_expr") is None:
            continue
        if liveness.escapes(op.results[0]):
            continue
        info = types.tensor_info(op.results[0].type)
        if info is not None and info.dims is not None and info.dtype is not None:
            size = types.size_in_bytes(info.dims, info.dtype)
            last = liveness.last_use(op.results[0])
            found.append((op, size, liveness.position(op), last))
    # Storage by the last use of what lies in it: (position, bytes, storage).
    taken: list[tuple[int, Dim, ir.Value]] = []
    names = StorageNames(function)
    for op, size, first, last in found:
        fitting = next((e for e in taken if e[0] < first and _holds(e[1], size)), None)
        if fitting is None:
            storage, room = make_storage(op, size, names.next()), size
        else:
            taken.remove(fitting)
            _, room, storage = fitting
        taken.append((last, room, storage))
        place_in(op, storage)


def _holds(storage: Dim, size: Dim) -> bool:
    """True when a storage of that many bytes has room for the size."""
    if isinstance(storage, int) and isinstance(size, int):
        return storage >= size
    return dims.equal(storage, size)


def _annotate_calls(function: ir.Operation, plan: WorkspacePlan) -> None:
    for op in walk(function):
        if op.name != "relax.call_tir":
            continue
        result = op.results[0]
        count = len(outputs_of(result.type))
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
