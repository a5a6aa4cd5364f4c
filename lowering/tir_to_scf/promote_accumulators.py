"""`scf-promote-accumulators`: what a loop only adds to stays in registers while it runs.

A loop that loads, changes and stores the same elements of a buffer in every step (a reduction's
accumulators) becomes a loop that carries their values: they are loaded before it and stored after
it.  Applied from the inside out, so that a tile stays in registers through a whole nest of
reduction loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir.buffer_names import has_one_name, is_allocated
from relax_mlir.mlir import PassManager, arith, ir, memref, scf, vector
from relax_mlir.tir.math_ops import constant_attribute
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.nest import encloses

__all__ = ["PromoteAccumulators"]

_LOADS = ("memref.load", "vector.load", "vector.maskedload")
_STORES = ("memref.store", "vector.store", "vector.maskedstore")
_HARMLESS = ("memref.dim",)
# Equal masks become one value, defined outside of the loops that do not change them.
_CLEAN = "func.func(cse,loop-invariant-code-motion)"
_MAX_CARRIED = 64


@register_pass("scf-promote-accumulators")
@dataclass(frozen=True)
class PromoteAccumulators(Pass):
    """Carry the elements that a loop updates in every step through the loop as values."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes and _has_loops(function):
                PassManager.parse(_CLEAN).run(function)
                noalias = _says_noalias(function)
                for loop in _loops_inside_out(function):
                    _promote(loop, noalias)


def _has_loops(function: ir.Operation) -> bool:
    blocks = list(function.regions[0].blocks)
    starts = ("scf.", "gpu.launch")
    return bool(blocks) and any(o.operation.name.startswith(starts) for o in blocks[0].operations)


def _says_noalias(function: ir.Operation) -> bool:
    attributes = from_attribute(function.attributes["tir.attrs"])
    return bool(attributes.get("tir.noalias", False))


def _loops_inside_out(op: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                found += _loops_inside_out(child.operation)
    if op.name == "scf.for":
        found.append(op)
    return found


@dataclass(frozen=True)
class _Slot:
    """A place in a buffer: a scalar or a vector at an index, under a mask or not."""

    buffer: ir.Value
    indices: tuple[Index, ...]
    kind: ir.Type
    mask: ir.Value | None

    @property
    def lanes(self) -> int:
        return ir.VectorType(self.kind).shape[0] if isinstance(self.kind, ir.VectorType) else 1


@dataclass
class _Access:
    op: ir.Operation
    slot: _Slot
    is_store: bool


def _promote(loop: ir.Operation, noalias: bool) -> None:
    accesses = _accesses(loop, noalias)
    stored = {a.slot.buffer for a in accesses if a.is_store}
    groups = {b: [a for a in accesses if a.slot.buffer == b] for b in stored}
    promotable = {b for b, group in groups.items() if _is_promotable(loop, group)}
    chosen = [a for a in accesses if a.slot.buffer in promotable]
    slots = list(dict.fromkeys(a.slot for a in chosen))
    if slots and len(slots) + len(loop.results) <= _MAX_CARRIED and _runs(loop):
        _rewrite(loop, chosen, slots)


def _runs(loop: ir.Operation) -> bool:
    """Whether the loop is known to take a step: its elements are touched in any case then."""
    low, high = (as_index(bound) for bound in list(loop.operands)[:2])
    return ((high - low).bounds()[0] or 0) > 0


def _accesses(loop: ir.Operation, noalias: bool) -> list[_Access]:
    """The accesses of the loop's body to buffers that are only accessed there, at its top level."""
    found: list[_Access] = []
    barred: set[ir.Value] = set()
    top = loop.regions[0].blocks[0]
    for view in top.operations:
        op = view.operation
        access = _access(op)
        if access is not None:
            found.append(access)
        elif op.name not in _HARMLESS:
            _bar_operands(op, barred)
    own = {buffer for buffer in {a.slot.buffer for a in found} if _is_own(buffer, noalias)}
    return [a for a in found if a.slot.buffer in own - barred]


def _access(op: ir.Operation) -> _Access | None:
    operands = list(op.operands)
    if op.name in _LOADS:
        kind, masked = op.results[0].type, op.name == "vector.maskedload"
        indices = operands[1:-2] if masked else operands[1:]
        mask = operands[-2] if masked else None
        return _Access(op, _slot(operands[0], indices, kind, mask), False)
    if op.name == "vector.maskedstore":
        slot = _slot(operands[0], operands[1:-2], operands[-1].type, operands[-2])
        return _Access(op, slot, True)
    if op.name in _STORES:
        return _Access(op, _slot(operands[1], operands[2:], operands[0].type, None), True)
    return None


def _slot(buffer: ir.Value, indices: list[ir.Value], kind: ir.Type, mask: ir.Value | None) -> _Slot:
    return _Slot(buffer, tuple(as_index(index) for index in indices), kind, mask)


def _bar_operands(op: ir.Operation, barred: set[ir.Value]) -> None:
    """Buffers that are used by an operation, or inside of it, in a way not understood here."""
    barred.update(v for v in op.operands if isinstance(v.type, ir.MemRefType))
    for region in op.regions:
        for block in region.blocks:
            for child in block.operations:
                _bar_operands(child.operation, barred)


def _is_own(buffer: ir.Value, noalias: bool) -> bool:
    """Whether no other value names the same memory, and no other thread uses it."""
    if ir.MemRefType(buffer.type).memory_space is not None:
        return False
    argument = noalias and isinstance(buffer.owner, ir.Block)
    return (argument or is_allocated(buffer)) and has_one_name(buffer)


def _is_promotable(loop: ir.Operation, group: list[_Access]) -> bool:
    """Whether all accesses to a buffer are to elements that stay the same, and are apart."""
    slots = list(dict.fromkeys(a.slot for a in group))
    for slot in slots:
        values = [v for index in slot.indices for v in index.leaves()]
        values += [slot.mask] if slot.mask is not None else []
        if any(encloses(loop.opview, value) for value in values):
            return False
    return all(_apart(a, b) for i, a in enumerate(slots) for b in slots[:i])


def _apart(a: _Slot, b: _Slot) -> bool:
    """Whether two places have no element in common."""
    last = len(a.indices) - 1
    for axis, (x, y) in enumerate(zip(a.indices, b.indices, strict=True)):
        distance = (x - y).as_constant()
        if distance is None or distance == 0:
            continue
        if axis != last or (distance >= b.lanes if distance > 0 else -distance >= a.lanes):
            return True
    return False


def _rewrite(loop: ir.Operation, accesses: list[_Access], slots: list[_Slot]) -> None:
    """Make a loop that carries the values of the slots."""
    old = list(loop.operands)
    count = len(old) - 3
    with ir.InsertionPoint(loop), loop.location:
        start = [_initial(slot, accesses) for slot in slots]
        made = scf.ForOp(*old[:3], [*old[3:], *start])
        for name in loop.attributes:
            made.operation.attributes[name] = loop.attributes[name]
    source = loop.regions[0].blocks[0]
    arguments = list(made.body.arguments)
    for argument, target in zip(source.arguments, arguments, strict=False):
        target.set_location(argument.location)
        argument.replace_all_uses_with(target)
    carried = dict(zip(slots, arguments[1 + count :], strict=True))
    _move_body(source, made.body, accesses, carried)
    with ir.InsertionPoint(loop), loop.location:
        for slot, value in zip(slots, list(made.results)[count:], strict=True):
            _store(slot, value)
    for result, new in zip(loop.results, list(made.results)[:count], strict=True):
        result.replace_all_uses_with(new)
    loop.erase()


def _move_body(
    source: ir.Block, target: ir.Block, accesses: list[_Access], current: dict[_Slot, ir.Value]
) -> None:
    """Move a loop's operations to its successor; accesses, which are in the order of the body, use
    and change the `current` values."""
    # No dictionary by operation: its hash changes with its operands.
    pending = list(reversed(accesses))
    end = source.operations[len(source.operations) - 1].operation
    slots = list(current)
    for view in list(source.operations)[:-1]:
        op = view.operation
        if not pending or pending[-1].op != op:
            target.append(op)
            continue
        access = pending.pop()
        if access.is_store:
            current[access.slot] = _stored(op)
            op.erase()
        else:
            op.results[0].replace_all_uses_with(current[access.slot])
            op.erase()
    with ir.InsertionPoint(target), end.location:
        scf.YieldOp([*end.operands, *(current[slot] for slot in slots)])


def _stored(op: ir.Operation) -> ir.Value:
    return op.operands[len(op.operands) - 1 if op.name == "vector.maskedstore" else 0]


def _indices(slot: _Slot) -> list[ir.Value]:
    return [write(index, ir.InsertionPoint.current, ir.Location.current) for index in slot.indices]


def _initial(slot: _Slot, accesses: list[_Access]) -> ir.Value:
    """What a slot holds before the first step: nothing that matters if a step starts by storing."""
    first = next(access for access in accesses if access.slot == slot)
    if first.is_store and slot.mask is None:
        return arith.constant(slot.kind, constant_attribute(slot.kind, 0))
    return _load(slot)


def _load(slot: _Slot) -> ir.Value:
    if slot.mask is not None:
        zero = arith.constant(slot.kind, constant_attribute(slot.kind, 0))
        return vector.maskedload(slot.kind, slot.buffer, _indices(slot), slot.mask, zero)
    if isinstance(slot.kind, ir.VectorType):
        return vector.LoadOp(slot.kind, slot.buffer, _indices(slot)).result
    return memref.load(slot.buffer, _indices(slot))


def _store(slot: _Slot, value: ir.Value) -> None:
    if slot.mask is not None:
        vector.MaskedStoreOp(slot.buffer, _indices(slot), slot.mask, value)
    elif isinstance(slot.kind, ir.VectorType):
        vector.StoreOp(value, slot.buffer, _indices(slot))
    else:
        memref.store(value, slot.buffer, _indices(slot))
