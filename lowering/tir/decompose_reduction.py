"""`tir-decompose-reduction`: initialisations before the loops they are the first step of.

A block with a `tir.init` asks in every step whether it is the first.  Where the loops show when
that is, the initialisation gets a nest of its own before the outermost reduction loop, as the
schedule primitive of that name makes it, and the loops inside have no branch.  Where it cannot be
shown that nothing changes, the block keeps its initialisation.  A reduction of no steps (along a
symbolic axis that is empty) is initialised too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir.buffer_names import has_one_name
from relax_mlir.lowering.tir.plan_buffer_allocation import has_loops
from relax_mlir.mlir import arith, ir
from relax_mlir.tir.schedule.index import Index, Leaf, as_index, defining
from relax_mlir.tir.schedule.nest import (
    blocks_of,
    descend,
    encloses,
    is_ancestor,
    is_movable,
    loops_around,
)
from relax_mlir.tir.schedule.state import ScheduleState

__all__ = ["DecomposeReduction"]

_PLAIN = ("tir.read", "tir.write", "tir.init", "scf.if", "scf.yield")


@register_pass("tir-decompose-reduction")
@dataclass(frozen=True)
class DecomposeReduction(Pass):
    """Move the initialisation of reductions before their loops."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            # Most functions have become linalg and have no loops left.
            if "tir.attrs" in function.attributes and has_loops(function):
                for block in blocks_of(function.opview):
                    _decompose(block, ScheduleState(state.module))


def _decompose(block: BlockOp, state: ScheduleState) -> None:
    init = next(
        (o.operation for o in block.block.operations if o.operation.name == "tir.init"), None
    )
    if init is None:
        return
    plan = _Reduction.of(block, init)
    if plan is not None and plan.is_movable():
        _emit_init(plan, state)
        init.erase()


@dataclass
class _Reduction:
    """A block with an initialisation, the loops from its outermost reduction loop on, and which of
    them are reduction loops."""

    block: BlockOp
    init: ir.Operation
    loops: list[ForOp]
    reduction: list[bool]

    @classmethod
    def of(cls, block: BlockOp, init: ir.Operation) -> _Reduction | None:
        if any(kind not in ("S", "R") for kind in block.kinds):
            return None
        reduced = {
            leaf
            for kind, binding in zip(block.kinds, block.bindings, strict=True)
            if kind != "S"
            for leaf in as_index(binding).leaves()
        }
        loops = _loops_directly_around(block)
        marks = [_variable(loop) in reduced for loop in loops]
        if True not in marks:
            return None
        first = marks.index(True)
        return cls(block, init, loops[first:], marks[first:])

    def is_movable(self) -> bool:
        return (
            self._starts_at_the_first_step()
            and self._spatial_points_are_apart()
            and self._bounds_are_independent()
            and self._nothing_else_touches()
        )

    def counts_steps(self, condition: ir.Value) -> bool:
        """Whether a condition is over reduction loops alone, and holds for the first step if it
        does for any."""
        steps = {_variable(x) for x, r in zip(self.loops, self.reduction, strict=True) if r}
        around = {_variable(loop) for loop in loops_around(self.block)}
        from relax_mlir.tir.schedule.inline import conditions

        ((value, limit),) = conditions(condition)
        distance = limit - value
        if not around & set(distance.leaves()) <= steps:
            return False
        moving = [(m, k) for m, k in distance.terms.items() if steps & set(Index({m: 1}).leaves())]
        falls = all(k < 0 and len(m) == 1 and isinstance(m[0], Leaf) for m, k in moving)
        return bool(moving) and falls

    def _spatial(self) -> list[ForOp]:
        return [loop for loop, r in zip(self.loops, self.reduction, strict=True) if not r]

    def _starts_at_the_first_step(self) -> bool:
        """The reduction variables are at their start exactly when the reduction loops are."""
        inside = {
            _variable(loop): loop for loop, r in zip(self.loops, self.reduction, strict=True) if r
        }
        pairs = zip(self.block.kinds, self.block.bindings, self.block.domain_pairs, strict=True)
        for kind, binding, (start, _) in pairs:
            if kind == "S":
                continue
            distance = as_index(binding) - as_index(start)
            for monomial, k in distance.terms.items():
                atom = monomial[0]
                loop = inside.get(atom.value) if isinstance(atom, Leaf) else None
                if loop is None or len(monomial) != 1 or k < 0:
                    return False
            first = {v: as_index(loop.min) for v, loop in inside.items()}
            if distance.substitute(first) != Index():
                return False
        return True

    def _spatial_points_are_apart(self) -> bool:
        """Each spatial point inside the reduction loops stores and loads an element of its own."""
        indices = _stored_indices(self.block)
        if indices is None or _stored_indices_of_init(self.init) != set(indices):
            return False
        pairs = zip(self.block.kinds, self.block.iter_vars, self.block.bindings, strict=True)
        apart: set[ir.Value] = set()
        spatial = {_variable(loop): loop for loop in self._spatial()}
        for kind, variable, binding in pairs:
            used = [v for v in as_index(binding).leaves() if v in spatial]
            if kind != "S" or not used:
                continue
            alone = Index({(Leaf(variable),): 1})
            if not all(alone in each for _, each in indices):
                return False
            if not _is_injective(as_index(binding), spatial) or apart & set(used):
                return False
            apart |= set(used)
        return all(v in apart or loop.extent == 1 for v, loop in spatial.items())

    def _bounds_are_independent(self) -> bool:
        reduction = {_variable(x) for x, r in zip(self.loops, self.reduction, strict=True) if r}
        bounds = [as_index(b) for loop in self._spatial() for b in (loop.min, loop.extent)]
        return not any(v in reduction for bound in bounds for v in bound.leaves())

    def _nothing_else_touches(self) -> bool:
        """No other statement below the loops uses what is initialised, and the initialisation
        reads nothing that is made there."""
        written = {buffer for buffer, _ in _stored_indices(self.block) or []}
        outer = self.loops[0]
        if not all(has_one_name(buffer) for buffer in written):
            return False
        for op in _inside(outer.operation):
            own = is_ancestor(self.block, op.opview)
            if not own and any(v in written for v in op.operands):
                return False
            if op.name == "tir.call":
                return False
        loaded = {op.operands[0] for op in _inside(self.init) if op.name == "memref.load"}
        return not any(
            op.name != "memref.load"
            and op.name not in ("tir.read", "tir.write")
            and any(v in loaded for v in op.operands)
            for op in _inside(outer.operation)
        ) and not any(encloses(outer, buffer) for buffer in written)


def _loops_directly_around(block: BlockOp) -> list[ForOp]:
    """The loops around a block without anything but loops between, outermost first."""
    loops: list[ForOp] = []
    for loop in reversed(loops_around(block)):
        child = loops[0].operation if loops else block.operation
        if child.parent != loop.operation:
            break
        loops.insert(0, loop)
    return loops


def _variable(loop: ForOp) -> ir.Value:
    return loop.induction_variable


def _stored_indices(block: BlockOp) -> list[tuple[ir.Value, tuple[Index, ...]]] | None:
    """(buffer, indices) that the block stores to; None when it is not a plain accumulation: all
    stores of a buffer at one place, all loads of it there too."""
    places: dict[ir.Value, tuple[Index, ...]] = {}
    loads: list[tuple[ir.Value, tuple[Index, ...]]] = []
    for op in _inside(block.operation):
        if op.name == "memref.store":
            place = tuple(as_index(v) for v in list(op.operands)[2:])
            if places.setdefault(op.operands[1], place) != place:
                return None
        elif op.name == "memref.load":
            loads.append((op.operands[0], tuple(as_index(v) for v in list(op.operands)[1:])))
        elif op.name not in _PLAIN and not is_movable(op.opview):
            return None
    if any(buffer in places and places[buffer] != place for buffer, place in loads):
        return None
    return list(places.items())


def _stored_indices_of_init(init: ir.Operation) -> set[tuple[ir.Value, tuple[Index, ...]]]:
    return {
        (op.operands[1], tuple(as_index(v) for v in list(op.operands)[2:]))
        for op in _inside(init)
        if op.name == "memref.store"
    }


def _is_injective(binding: Index, spatial: dict[ir.Value, ForOp]) -> bool:
    """Whether different values of the spatial loops give different values of the binding."""
    parts: list[tuple[int, int]] = []
    for monomial, k in binding.terms.items():
        if not any(v in spatial for v in Index({monomial: 1}).leaves()):
            continue
        atom = monomial[0]
        loop = spatial.get(atom.value) if isinstance(atom, Leaf) else None
        if loop is None or len(monomial) != 1:
            return False
        parts.append((abs(k), loop.extent if isinstance(loop.extent, int) else -1))
    reach = 0
    for n, (k, extent) in enumerate(sorted(parts)):
        if k <= reach or (extent < 0 and n + 1 < len(parts)):
            return False
        reach += k * (extent - 1)
    return True


def _inside(op: ir.Operation) -> Iterator[ir.Operation]:
    return (view.operation for view in descend(op.opview))


# -- rewriting --------------------------------------------------------------------------------


def _emit_init(plan: _Reduction, state: ScheduleState) -> None:
    """A copy of the nest before it, with the initialisation for a body and without the reduction
    loops."""
    path = [*(loop.operation for loop in plan.loops), plan.block.operation]
    copies = [path[0].clone(ip=ir.InsertionPoint(path[0])).operation]
    for original in path[1:]:
        copies.append(_keep_only(_body(copies[-1]), _position(original)))
    copy = _without_step_conditions(plan, copies.pop(), state)
    statements = [o.operation for o in _body(copy).operations]
    init = next(op for op in statements if op.name == "tir.init")
    for view in list(_body(init).operations):
        _body(copy).append(view.operation)
    written = [op.operands[1] for op in _inside(copy) if op.name == "memref.store"]
    _erase_unused([op for op in statements if not _declares_write(op, written)])
    copy.attributes["sym_name"] = ir.StringAttr.get(f"{plan.block.sym_name.value}_init")
    for op, reduced in zip(copies, plan.reduction, strict=True):
        if reduced:
            loop = op.opview
            assert isinstance(loop, ForOp), "all but the last of a path are loops"
            _take_first_step(loop)


def _without_step_conditions(
    plan: _Reduction, copy: ir.Operation, state: ScheduleState
) -> ir.Operation:
    """The copy of the block without the conditions that count the steps of the reduction: one of no
    steps is initialised too."""
    block = copy.opview
    assert isinstance(block, BlockOp), "what was copied is a block"
    if not len(block.predicate):
        return copy
    wanted = [not plan.counts_steps(part) for part in _conjuncts(plan.block.predicate[0])]
    if all(wanted):
        return copy
    kept = [p for p, keep in zip(_conjuncts(block.predicate[0]), wanted, strict=True) if keep]
    condition, at = None, ir.InsertionPoint(copy)
    for part in kept:
        condition = part if condition is None else arith.AndIOp(condition, part, ip=at).result
    return state.rebuild_block(block, predicate=condition).operation


def _conjuncts(predicate: ir.Value) -> list[ir.Value]:
    """What a predicate is the conjunction of."""
    producer = defining(predicate)
    if producer is None or producer.name != "arith.andi":
        return [predicate]
    return [part for operand in producer.operands for part in _conjuncts(operand)]


def _declares_write(op: ir.Operation, written: list[ir.Value]) -> bool:
    return op.name == "tir.write" and op.operands[0] in written


def _body(op: ir.Operation) -> ir.Block:
    return op.regions[0].blocks[0]


def _keep_only(body: ir.Block, position: int) -> ir.Operation:
    """The operation at a position of a body; the other statements there are erased."""
    operations = [view.operation for view in body.operations]
    kept = operations.pop(position)
    _erase_unused(operations)
    return kept


def _erase_unused(operations: list[ir.Operation]) -> None:
    """Erase the operations, last first, whose results nothing uses."""
    for op in reversed(operations):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()


def _position(op: ir.Operation) -> int:
    return next(n for n, o in enumerate(op.block.operations) if o.operation == op)


def _take_first_step(loop: ForOp) -> None:
    """Replace a loop by its first iteration."""
    op = loop.operation
    with ir.InsertionPoint(op), op.location:
        start = loop.min
        value = arith.constant(ir.IndexType.get(), start) if isinstance(start, int) else start
    loop.induction_variable.replace_all_uses_with(value)
    for view in list(loop.block.operations):
        view.operation.move_before(op)
    op.erase()
