"""What follows a reduction, as where the reduction starts: fuse_reduction_epilogue."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    consumers,
    init_of,
    is_local_to,
    read_buffers,
    siblings,
    written_buffers,
)
from relax_mlir.tir.schedule.bindings import determined
from relax_mlir.tir.schedule.body import Copier, body_statements, loads_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index, value_domain
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import (
    drop_buffer,
    remove_block,
    require_complete,
    require_plain_uses,
    single_store,
    solve,
)
from relax_mlir.tir.schedule.reduction import combiner_of, require_reduction
from relax_mlir.tir.schedule.state import ScheduleState, domain_of, erase_dead_arithmetic


@dataclass(frozen=True)
class Epilogue:
    """`D[...] = f(C[...], other)` after `C[...] = f(C[...], value)`."""

    reduction: BlockOp
    epilogue: BlockOp
    buffer: ir.Value
    combiner: ir.Operation
    update: ir.Operation
    solution: dict[ir.Value, Index]


def fuse_reduction_epilogue(
    state: ScheduleState, reduction_block: ir.OpView, epilogue_block: ir.OpView
) -> None:
    """Start a reduction from what an epilogue would combine its result with, and drop the epilogue.

    A bias added to a sum, or a bound on a maximum: the epilogue must combine as the reduction does,
    for anything else would be done in each step instead of once.
    """
    found = _match(require_reduction(reduction_block), epilogue_block)
    block, epilogue = found.reduction, found.epilogue
    output = single_store(epilogue)
    init = init_of(block)
    assert init is not None, "a reduction block has an init"
    store = next(o.operation for o in nest.descend(init) if o.operation.name == "memref.store")
    _rewrite_init(found, store)
    for op in [o.operation for o in nest.descend(block)]:
        position = {"memref.load": 0, "memref.store": 1}.get(op.name)
        if position is None or op.operands[position] != found.buffer:
            continue
        at = ir.InsertionPoint(op)
        indices = [write(i.substitute(found.solution), at) for i in output.indices]
        operands = [*list(op.operands)[:position], output.buffer, *indices]
        new = ir.Operation.create(
            op.name, [r.type for r in op.results], operands, loc=op.location, ip=at
        )
        for old, made in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(made)
        op.erase()
    remove_block(state, epilogue)
    drop_buffer(state, found.buffer)
    erase_dead_arithmetic(block)
    refresh(block)


def _rewrite_init(found: Epilogue, store: ir.Operation) -> None:
    """The init stores what it did, combined with the other operand of the epilogue."""
    at = ir.InsertionPoint(store)
    old = store.operands[0]
    load = loads_of(found.buffer, found.epilogue)[0]
    copier = Copier(at, dict(found.solution), {load.results[0]: old})
    skipped = {load, single_store(found.epilogue).store}
    copier.clone_all(op for op in body_statements(found.epilogue) if op.operation not in skipped)
    store.operands[0] = _simplified(copier.values[found.update.results[0]], old)


_NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1}


def _simplified(value: ir.Value, start: ir.Value) -> ir.Value:
    """`0 + b` as `b`; the sum itself is dead then."""
    operation = value.owner.operation
    owner = start.owner
    neutral = _NEUTRAL.get(operation.name)
    if neutral is None or isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return value
    attr = owner.operation.attributes["value"]
    if not isinstance(attr, (ir.FloatAttr, ir.IntegerAttr)) or attr.value != neutral:
        return value
    return next(operand for operand in operation.operands if operand != start)


def _match(block: BlockOp, epilogue: ir.OpView) -> Epilogue:
    if not isinstance(epilogue, BlockOp):
        raise Refusal("the epilogue is not a block")
    require_complete(epilogue)
    if len(block.predicate) or len(epilogue.predicate):
        raise Refusal(f"{label(block)} or {label(epilogue)} has a predicate", block, epilogue,
                      hint="fuse before you split")  # fmt: skip
    outputs = written_buffers(block)
    if len(outputs) != 1 or not is_local_to(outputs[0], nest.scope_of(block)):
        raise Refusal(f"{label(block)} does not only write one buffer of its scope", block)
    buffer = outputs[0]
    require_plain_uses(buffer, block)
    if consumers(block) != [epilogue]:
        raise Refusal(f"{label(epilogue)} is not the only reader of {nest.value_name(buffer)}",
                      *consumers(block))  # fmt: skip
    combiner = combiner_of(block, buffer)
    update = _epilogue_update(block, epilogue, buffer, combiner)
    solution = _solution(block, epilogue, buffer)
    _require_own_elements(epilogue)
    _require_movable(block, epilogue)
    return Epilogue(block, epilogue, buffer, combiner, update, solution)


def _epilogue_update(
    block: BlockOp, epilogue: BlockOp, buffer: ir.Value, combiner: ir.Operation
) -> ir.Operation:
    loads = loads_of(buffer, epilogue)
    owner = single_store(epilogue).store.operands[0].owner
    operation = None if isinstance(owner, ir.Block) else owner.operation
    combines = (
        operation is not None
        and operation.name == combiner.name
        and len(loads) == 1
        and loads[0].results[0] in list(operation.operands)
        and operation.operands[0] != operation.operands[1]
        and sum(1 for _ in loads[0].results[0].uses) == 1
    )
    if not combines or operation is None:
        raise Refusal(f"{label(epilogue)} does not combine the result by {combiner.name[6:]} as "
                      f"{label(block)} does: it would be applied in each step of the reduction",
                      epilogue, block)  # fmt: skip
    return operation


def _solution(block: BlockOp, epilogue: BlockOp, buffer: ir.Value) -> dict[ir.Value, Index]:
    """The epilogue's variables by those of the reduction; each has all instances of the other."""
    load = loads_of(buffer, epilogue)[0]
    read = [as_index(v) for v in list(load.operands)[1:]]
    written = single_store(block).indices
    solution = solve(epilogue, read, written)
    for theirs, ours in zip(read, written, strict=True):
        mine, other = ours.as_leaf(), theirs.as_leaf()
        same = (
            mine is not None
            and other is not None
            and mine in nest.iter_vars(block)
            and value_domain(mine) == value_domain(other)
        )
        if not same and not (ours.is_constant and ours == theirs):
            raise Refusal(f"{label(epilogue)} does not run for each element that {label(block)} "
                          f"writes: {theirs} against {ours}", epilogue, block)  # fmt: skip
    return solution


def _require_own_elements(epilogue: BlockOp) -> None:
    """Each instance writes an element of its own, for it will accumulate there."""
    found = determined(single_store(epilogue).indices)
    for variable in nest.iter_vars(epilogue):
        if variable not in found and domain_of(variable)[1] != Index({}, 1):
            raise Refusal(f"several instances of {label(epilogue)} write one element", epilogue)


def _require_movable(block: BlockOp, epilogue: BlockOp) -> None:
    """What the epilogue reads is there when the reduction starts, what it writes is not in use."""
    blocks = siblings(block)
    between = blocks[blocks.index(block) : blocks.index(epilogue)]
    buffers = {*read_buffers(epilogue)} - set(written_buffers(block))
    for other in between:
        late = buffers & set(written_buffers(other))
        early = set(written_buffers(epilogue)) & {*read_buffers(other), *written_buffers(other)}
        for buffer in [*late, *early]:
            raise Refusal(f"{label(other)} also uses {nest.value_name(buffer)}, and would run "
                          f"after {label(epilogue)}", other, epilogue)  # fmt: skip
