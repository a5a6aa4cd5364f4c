"""Which blocks may run their instances in another order, or at the same time."""

from __future__ import annotations

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import (
    Access,
    captured_loop,
    init_of,
    no_reduction,
    read_buffers,
    writes_of,
    written_buffers,
)
from relax_mlir.tir.schedule.bindings import determined, varying
from relax_mlir.tir.schedule.body import stores_in
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import as_index, leaf
from relax_mlir.tir.schedule.reduction import combiner_of


def require_orderable(block: BlockOp) -> None:
    """Refuse a block whose own instances must stay in their order.

    Others may write the same buffers: whether blocks meet there is for the caller to see.
    """
    reason = captured_loop(block)
    if reason is not None:
        raise Refusal(f"{label(block)} may not run in another order: {reason}", block)
    for value, kind in zip(nest.iter_vars(block), block.kinds, strict=True):
        if kind not in ("S", "R"):
            raise Refusal(f"iteration variable {nest.value_name(value)} of {label(block)} is "
                          "neither spatial nor a reduction", block)  # fmt: skip
    if init_of(block) is not None:
        reason = no_reduction(block)
        if reason is not None:
            raise Refusal(f"{label(block)} is no reduction: {reason}", block)
    elif set(read_buffers(block)) & set(written_buffers(block)):
        _require_update(block)
    elif "R" in block.kinds:
        raise Refusal(f"{label(block)} has a reduction variable but neither init nor update", block)
    _require_own_elements(block)


def accumulates(block: BlockOp) -> bool:
    """True when an instance that runs twice counts twice."""
    both = set(read_buffers(block)) & set(written_buffers(block))
    return init_of(block) is not None or bool(both)


def _require_update(block: BlockOp) -> None:
    """`C[...] = f(C[...], x)` with an f whose order does not matter, as decompose_reduction leaves
    it."""
    stores = stores_in(block)
    if len(stores) != 1 or len(written_buffers(block)) != 1:
        raise Refusal(f"{label(block)} is neither complete nor a reduction block nor one update: "
                      "it reads what it writes", block)  # fmt: skip
    buffer = stores[0].operands[1]
    try:
        combiner_of(block, buffer, with_init=False)
    except Refusal as refusal:
        raise Refusal(f"{label(block)} is neither complete nor a reduction block: it reads "
                      f"{nest.value_name(buffer, 'a buffer')}, which it also writes, and "
                      f"{refusal.reason}", block) from None  # fmt: skip
    own = [as_index(v) for v in list(stores[0].operands)[2:]]
    loads = [
        [as_index(v) for v in list(op.operation.operands)[1:]]
        for op in nest.descend(block)
        if op.operation.name == "memref.load" and op.operation.operands[0] == buffer
    ]
    if loads != [own]:
        raise Refusal(f"{label(block)} reads what it writes more than once", block)


def _require_own_elements(block: BlockOp) -> None:
    """Instances that differ in a spatial variable write different elements."""
    spatial = [v for v, k in zip(nest.iter_vars(block), block.kinds, strict=True) if k == "S"]
    moving = varying(spatial)
    for access in writes_of(block):
        outside = [v for o, _ in access.region for v in o.leaves() if v not in spatial]
        found = determined([offset for offset, _ in access.region], outside)
        for variable in moving:
            if variable not in found or not _steps_apart(access, variable):
                name = nest.value_name(access.buffer, "a buffer")
                raise Refusal(f"instances of {label(block)} that differ in "
                              f"{nest.value_name(variable)} may write the same elements of {name}: "
                              "their order matters", block)  # fmt: skip


def _steps_apart(access: Access, variable: ir.Value) -> bool:
    """True when a region wider than an element moves by at least its size."""
    unit = next(iter(leaf(variable).terms))
    for offset, size in access.region:
        width = size.bounds()[1]
        if offset.uses(variable) and width != 1:
            step = offset.terms.get(unit)
            if step is None or width is None or abs(step) < width:
                return False
    return True
