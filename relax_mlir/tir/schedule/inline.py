"""Computing a block inside another: compute_inline, reverse_compute_inline."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    consumers,
    init_of,
    is_local_to,
    not_complete,
    producers,
    read_buffers,
    require_block,
    siblings,
    writers,
    written_buffers,
)
from relax_mlir.tir.schedule.body import Copier, body_statements, loads_of, stores_in
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import (
    Index,
    as_index,
    merge_split,
    proves_nonnegative,
    value_domain,
)
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import ScheduleState, domain_of, erase_dead_arithmetic


@dataclass(frozen=True)
class Element:
    """A block that computes one element: `buffer[indices] = value` at the end of its body."""

    buffer: ir.Value
    indices: list[Index]
    store: ir.Operation


def single_store(block: BlockOp) -> Element:
    """The only store of a block, which must be a statement of its body, not under a condition."""
    stores = stores_in(block)
    if len(stores) != 1 or stores[0] not in [op.operation for op in body_statements(block)]:
        raise Refusal(f"{label(block)} is not a single store", block,
                      hint="inlining needs a body of the form B[...] = value")  # fmt: skip
    store = stores[0]
    operands = list(store.operands)
    return Element(operands[1], [as_index(v) for v in operands[2:]], store)


def solve(block: BlockOp, indices: list[Index], at: list[Index]) -> dict[ir.Value, Index]:
    """The iteration variables for which the block's `indices` are `at`.

    Every index must be a variable of its own or a constant; variables of one iteration stay there.
    """
    found: dict[ir.Value, Index] = {}
    for index, wanted in zip(indices, at, strict=True):
        variable = index.as_leaf()
        if index.is_constant:
            continue
        if variable is None or variable in found or variable not in nest.iter_vars(block):
            raise Refusal(f"{label(block)} does not index by distinct iteration variables: "
                          f"{index}", block)  # fmt: skip
        found[variable] = wanted
    for variable, (low, extent) in zip(nest.iter_vars(block), block.domain_pairs, strict=True):
        if variable in found:
            continue
        if as_index(extent) != Index({}, 1):
            raise Refusal(f"iteration variable {nest.value_name(variable)} of {label(block)} does "
                          "not appear in the index", block)  # fmt: skip
        found[variable] = as_index(low)
    return found


def require_local_output(block: BlockOp) -> ir.Value:
    """The only buffer a block writes, which must be allocated in its scope."""
    outputs = written_buffers(block)
    if len(outputs) != 1:
        raise Refusal(f"{label(block)} writes {len(outputs)} buffers", block)
    if not is_local_to(outputs[0], nest.scope_of(block)):
        raise Refusal(f"{label(block)} writes {nest.value_name(outputs[0])}, which is an output of "
                      "its scope", block)  # fmt: skip
    return outputs[0]


def require_complete(block: BlockOp) -> None:
    reason = not_complete(block)
    if reason is not None:
        raise Refusal(f"{label(block)} is not complete: {reason}", block)
    if init_of(block) is not None:
        raise Refusal(f"{label(block)} has an init", block)


def require_plain_uses(buffer: ir.Value, block: BlockOp) -> None:
    """Refuse buffers that are used by anything but element accesses, as a view or in a call."""
    known = ("memref.load", "memref.store", "tir.read", "tir.write", "memref.dim")
    for use in buffer.uses:
        if use.owner.operation.name not in known:
            raise Refusal(f"{nest.value_name(buffer)} is used by {use.owner.operation.name}", block)


def require_unchanged_reads(block: BlockOp, until: list[BlockOp]) -> None:
    """What `block` reads must still hold the same values where `until` run."""
    blocks = siblings(block)
    position = blocks.index(block)
    last = max((blocks.index(b) for b in until), default=position)
    for buffer in read_buffers(block):
        for writer in writers(buffer, blocks[position + 1 : last + 1]):
            raise Refusal(f"{label(writer)} overwrites {nest.value_name(buffer)}, which "
                          f"{label(block)} reads", block, writer)  # fmt: skip


def compute_inline(state: ScheduleState, block: ir.OpView) -> None:
    """Compute the block's elements where they are read, and remove it."""
    block = require_block(block)
    require_complete(block)
    buffer = require_local_output(block)
    require_plain_uses(buffer, block)
    element = single_store(block)
    users = consumers(block)
    if not users:
        raise Refusal(f"nothing reads what {label(block)} writes", block)
    require_unchanged_reads(block, users)
    for index in element.indices:
        if index.is_constant and index != Index():
            raise Refusal(f"{label(block)} writes at the constant index {index}", block)
    solve(block, element.indices, element.indices)
    scope = nest.scope_of(block)
    readers = [b for b in nest.descend(scope) if isinstance(b, BlockOp) and b != block]
    touched = [b for b in readers if loads_of(buffer, b)]
    for load in loads_of(buffer, scope):
        _inline_load(block, element, load)
    remove_block(state, block)
    drop_buffer(state, buffer)
    for reader in reversed(touched):
        erase_dead_arithmetic(reader)
        refresh(reader)


def _inline_load(block: BlockOp, element: Element, load: ir.Operation) -> None:
    at = [as_index(v) for v in list(load.operands)[1:]]
    copier = Copier(ir.InsertionPoint(load), solve(block, element.indices, at))
    copier.clone_all(op for op in body_statements(block) if op.operation != element.store)
    load.results[0].replace_all_uses_with(copier.value(element.store.operands[0]))
    load.erase()


def drop_buffer(state: ScheduleState, buffer: ir.Value) -> None:
    """Remove the declarations of a buffer that is no longer used, and the buffer."""
    for use in [u.owner.operation for u in buffer.uses]:
        if use.name in ("tir.read", "tir.write"):
            use.erase()
    if not any(True for _ in buffer.uses):
        state.erase(buffer.owner.operation.opview)


def remove_block(state: ScheduleState, block: ir.OpView) -> None:
    """Erase a block, and the loops and conditions that hold nothing else then."""
    victim = block
    above = nest.parent(victim)
    while above is not None and not nest.is_scope(above):
        others = [op for op in nest.statements(nest.body_of(above)) if op != victim]
        if others or len(above.operation.results):
            break
        victim, above = above, nest.parent(above)
    scope = nest.scope_of(victim)
    state.erase(victim)
    erase_dead_arithmetic(scope)


def reverse_compute_inline(state: ScheduleState, block: ir.OpView) -> None:
    """Compute the block, which reads element by element, where its input is produced."""
    block = require_block(block)
    require_complete(block)
    producer, buffer = _single_producer(block)
    element = single_store(producer)
    single_store(block)
    index = _read_index(block, buffer)
    solution = solve(block, index, element.indices)
    _require_covered(block, producer, index, element)
    _require_inputs_ready(block, producer)
    guards = _guards(block, solution)
    load_results = [load.results[0] for load in loads_of(buffer, block)]
    at = ir.InsertionPoint(element.store)
    produced: ir.Value = element.store.operands[0]
    copier = Copier(at, dict(solution), dict.fromkeys(load_results, produced))
    skipped = {load.results[0].owner.operation for load in loads_of(buffer, block)}
    copier.clone_all(op for op in body_statements(block) if op.operation not in skipped)
    for load in loads_of(buffer, producer):  # those under a condition were cloned with it
        load.results[0].replace_all_uses_with(produced)
        load.erase()
    element.store.erase()
    if guards:
        producer = _guard(state, producer, guards)
    remove_block(state, block)
    drop_buffer(state, buffer)
    erase_dead_arithmetic(producer)
    refresh(producer)


def _single_producer(block: BlockOp) -> tuple[BlockOp, ir.Value]:
    """The block whose element-wise result `block` reads, and the buffer between them."""
    candidates: list[tuple[BlockOp, ir.Value]] = []
    for producer in producers(block):
        shared = set(written_buffers(producer)) & set(read_buffers(block))
        candidates.extend((producer, b) for b in shared if is_local_to(b, nest.scope_of(block)))
    if len(candidates) != 1:
        names = ", ".join(label(p) for p, _ in candidates) or "none"
        raise Refusal(f"{label(block)} needs exactly one producer, it has {names}", block,
                      *(p for p, _ in candidates))  # fmt: skip
    producer, buffer = candidates[0]
    require_complete(producer)
    require_local_output(producer)
    require_plain_uses(buffer, producer)
    others = [c for c in consumers(producer) if c != block]
    if others:
        raise Refusal(f"{label(others[0])} also reads {nest.value_name(buffer)}", others[0])
    return producer, buffer


def _read_index(block: BlockOp, buffer: ir.Value) -> list[Index]:
    loads = loads_of(buffer, block)
    found = [[as_index(v) for v in list(load.operands)[1:]] for load in loads]
    if not found or any(index != found[0] for index in found):
        raise Refusal(f"{label(block)} reads {nest.value_name(buffer)} at different indices", block)
    return found[0]


def _require_covered(
    block: BlockOp, producer: BlockOp, index: list[Index], element: Element
) -> None:
    """Everything the consumer reads is written by the producer, once its own loops ran."""
    for read_at, written_at in zip(index, element.indices, strict=True):
        if read_at.is_constant and written_at.is_constant:
            continue
        variable = written_at.as_leaf()
        if variable is None or variable not in nest.iter_vars(producer):
            raise Refusal(f"{label(producer)} writes at {written_at}, which is not an iteration "
                          "variable", producer)  # fmt: skip
        low, extent = domain_of(variable)
        reader = read_at.as_leaf()
        taken = None if reader is None else value_domain(reader)
        first, count = (read_at, Index({}, 1)) if taken is None else taken
        inside = proves_nonnegative(first - low) and proves_nonnegative(
            low + extent - first - count
        )
        if not inside:
            raise Refusal(f"{label(producer)} does not write all of what {label(block)} reads",
                          producer, block)  # fmt: skip


def _require_inputs_ready(block: BlockOp, producer: BlockOp) -> None:
    """What else the consumer reads must be complete where the producer runs, and what it writes
    must not be used in between."""
    blocks = siblings(block)
    between = blocks[blocks.index(producer) : blocks.index(block)]
    for other in between:
        late = (set(read_buffers(block)) - set(written_buffers(producer))) & set(
            written_buffers(other)
        )
        early = set(written_buffers(block)) & {*read_buffers(other), *written_buffers(other)}
        for buffer in [*late, *early]:
            raise Refusal(f"{label(other)} also uses {nest.value_name(buffer)}, and would run "
                          f"after {label(block)}", other, block)  # fmt: skip


def _guards(block: BlockOp, solution: dict[ir.Value, Index]) -> list[tuple[Index, Index]]:
    """Conditions `(value, limit)`, value < limit, under which the consumer has an instance."""
    guards: list[tuple[Index, Index]] = []
    for variable, (low, extent) in zip(nest.iter_vars(block), block.domain_pairs, strict=True):
        value = solution[variable]
        first, limit = as_index(low), as_index(low) + as_index(extent)
        if not proves_nonnegative(limit - value - 1):
            guards.append((value, limit))
        if not proves_nonnegative(value - first):
            guards.append((first - 1, value))
    if len(block.predicate) and not predicate_is_domain(block):
        raise Refusal(f"{label(block)} has a predicate", block, hint="inline before you split")
    return guards


def predicate_is_domain(block: BlockOp) -> bool:
    """True when the predicate only says that iteration variables are in their domain, each or
    several that come from one fused loop.

    A split of loops adds just these; whoever changes the bindings checks the domains anew.
    """
    bindings = [as_index(b) for b in block.bindings]
    domains = [(as_index(low), as_index(extent)) for low, extent in block.domain_pairs]
    allowed: list[tuple[Index, Index]] = []
    for binding, (low, extent) in zip(bindings, domains, strict=True):
        allowed += [(binding, low + extent), (low, binding + 1)]
    parts = [part for part in conditions(block.predicate[0]) if part not in allowed]
    return not parts or all(part in _fused_domains(bindings, domains) for part in parts)


def _fused_domains(
    bindings: list[Index], domains: list[tuple[Index, Index]]
) -> list[tuple[Index, Index]]:
    """`(value, limit)` of each run of variables taken as one: `x` and 12 for `x // 4` of 3 and
    `x % 4` of 4."""
    found: list[tuple[Index, Index]] = []
    for first, (start, limit) in enumerate(domains):
        if start != Index():
            continue
        value = bindings[first]
        for number in range(first + 1, len(bindings)):
            low, extent = domains[number]
            if low != Index():
                break
            value = merge_split(value * extent + bindings[number])
            limit = limit * extent
            found.append((value, limit))
    return found


def conditions(predicate: ir.Value) -> list[tuple[Index, Index]]:
    """The parts `(value, limit)`, value < limit, of a predicate; a part that is nothing of the kind
    makes one that is never equal to a binding."""
    owner = predicate.owner.operation
    if owner.name == "arith.andi":
        return [c for operand in owner.operands for c in conditions(operand)]
    if owner.name == "arith.cmpi":
        predicate = ir.IntegerAttr(owner.attributes["predicate"]).value
        left, right = (as_index(operand) for operand in owner.operands)
        if predicate == int(arith.CmpIPredicate.slt):
            return [(left, right)]
        if predicate == int(arith.CmpIPredicate.sle):
            return [(left, right + 1)]
        if predicate == int(arith.CmpIPredicate.sgt):
            return [(right, left)]
        if predicate == int(arith.CmpIPredicate.sge):
            return [(right, left + 1)]
    return [(Index({}, -1), Index({}, -1))]


def _guard(state: ScheduleState, producer: BlockOp, guards: list[tuple[Index, Index]]) -> BlockOp:
    """The producer with the conditions as part of its predicate."""
    at = ir.InsertionPoint(producer)
    values = {
        v: as_index(b) for v, b in zip(nest.iter_vars(producer), producer.bindings, strict=True)
    }
    condition: ir.Value | None = producer.predicate[0] if len(producer.predicate) else None
    for value, limit in guards:
        left, right = (write(e.substitute(values), at) for e in (value, limit))
        part = arith.CmpIOp(arith.CmpIPredicate.slt, left, right, ip=at).result
        condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    return state.rebuild_block(producer, predicate=condition)
