"""How a reduction combines values, of one buffer or of several together such as argmax."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import init_of, written_buffers
from relax_mlir.tir.schedule.body import body_statements, stores_in
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, as_index
from relax_mlir.tir.schedule.reduction import combiner_of

Key = Hashable


@dataclass
class Reducer:
    """`(x_0, ...) = f((x_0, ...), (y_0, ...))` of a block: x are elements of the buffers it writes,
    all at the same indices, and y what a step contributes.

    `by_order` says that equal candidates are told apart by which comes first.
    """

    block: BlockOp
    buffers: Sequence[ir.Value]
    indices: list[Index]
    updates: list[ir.Operation]
    by_order: bool = False
    _old: list[Key] = field(default_factory=list)
    _new: list[Key] = field(default_factory=list)

    @classmethod
    def of(cls, block: BlockOp) -> Reducer:
        buffers = written_buffers(block)
        if len(buffers) != 1:
            return _Matcher(block, buffers).reducer()
        update = combiner_of(block, buffers[0])
        store = stores_in(block)[0]
        indices = [as_index(v) for v in list(store.operands)[2:]]
        return cls(block, buffers, indices, [update])

    def combine(
        self, old: Sequence[ir.Value], new: Sequence[ir.Value], at: ir.InsertionPoint
    ) -> list[ir.Value]:
        """The operations of the update on other values."""
        if len(self.updates) == 1:
            combined = self.updates[0].clone(ip=at)
            combined.operands[0], combined.operands[1] = old[0], new[0]
            return [combined.results[0]]
        known = dict(zip([*self._old, *self._new], [*old, *new], strict=True))
        return [_copy(update, known, at) for update in self.updates]


def _copy(op: ir.Operation, known: Mapping[Key, ir.Value], at: ir.InsertionPoint) -> ir.Value:
    operands = []
    for operand in op.operands:
        key = _key(operand)
        owner = operand.owner
        if key in known:
            operands.append(known[key])
        elif isinstance(owner, ir.Block):
            operands.append(operand)
        else:
            operands.append(_copy(owner.operation, known, at))
    new = op.clone(ip=at)
    for number, operand in enumerate(operands):
        new.operands[number] = operand
    return new.results[0]


def _key(value: ir.Value) -> Key:
    """Equal for values that are computed in the same way from the same loads."""
    if isinstance(value.type, ir.IndexType):
        return as_index(value)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value
    op = owner.operation
    if op.name == "memref.load":
        operands = list(op.operands)
        return "load", operands[0], tuple(as_index(v) for v in operands[1:])
    if op.regions:
        return value
    attributes = tuple(sorted((name, str(op.attributes[name])) for name in op.attributes))
    return op.name, attributes, str(value.type), tuple(_key(v) for v in op.operands)


_SIGNED = {"eq": 0, "slt": 2, "sle": 3, "sgt": 4, "sge": 5}
_UNSIGNED = {"slt": 6, "sle": 7, "sgt": 8, "sge": 9}
_FLOAT = {"eq": 1, "sgt": 2, "sge": 3, "slt": 4, "sle": 5}
_RELATIONS: dict[str, dict[int, str]] = {
    "arith.cmpi": {n: k[-2:] for t in (_SIGNED, _UNSIGNED) for k, n in t.items()},
    "arith.cmpf": {n: k[-2:] for k, n in _FLOAT.items()},
}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_EXTREMES = {
    **dict.fromkeys(("arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui"), "g"),
    **dict.fromkeys(("arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui"), "l"),
}


class _Matcher:
    """Recognises `x_i = select(keep, x_i, y_i)` with one condition for all, which compares a pair
    (x_v, y_v) and, where these are equal, may compare another."""

    def __init__(self, block: BlockOp, buffers: Sequence[ir.Value]):
        self.block = block
        self.buffers = buffers
        self.old: list[Key] = []
        self.new: list[Key] = []

    def reducer(self) -> Reducer:
        stores = self._stores()
        indices = [as_index(v) for v in list(stores[0].operands)[2:]]
        self.old = [("load", buffer, tuple(indices)) for buffer in self.buffers]
        updates = [self._update(store) for store in stores]
        self.new = [self._candidate(n, update) for n, update in enumerate(updates)]
        conditions = {
            _key(update.operands[0]) for update in updates if update.name == "arith.select"
        }
        first = next(update for update in updates if update.name == "arith.select")
        if len(conditions) != 1 or any(self._keeps(n, u) != self._keeps(updates.index(first), first)
                                       for n, u in enumerate(updates)
                                       if u.name == "arith.select"):  # fmt: skip
            raise self._refusal("its outputs are not chosen by one condition")
        direction, by_order = self._order(first.operands[0])
        if not self._keeps(updates.index(first), first):
            direction = {"g": "l", "l": "g"}[direction]
        if any(_EXTREMES.get(update.name, direction) != direction for update in updates):
            raise self._refusal("one output is a maximum where another follows a minimum")
        return Reducer(self.block, self.buffers, indices, updates, by_order, self.old, self.new)

    def _refusal(self, why: str) -> Refusal:
        return Refusal(f"{label(self.block)} reduces several buffers in a way that is not known to "
                       f"be associative: {why}", self.block)  # fmt: skip

    def _stores(self) -> list[ir.Operation]:
        """The store of each buffer, in the buffers' order, all at the same indices."""
        init = init_of(self.block)
        assert init is not None, "a reduction block has an init"
        initial = [o.operation for o in nest.descend(init) if o.operation.name == "memref.store"]
        statements = [op.operation for op in body_statements(self.block)]
        stores = [op for op in stores_in(self.block) if op in statements]
        for found in (stores, initial):
            if sorted(map(hash, (op.operands[1] for op in found))) != sorted(
                map(hash, self.buffers)
            ):
                raise self._refusal("it does not store each output once")
        places = {tuple(as_index(v) for v in list(op.operands)[2:]) for op in (*stores, *initial)}
        if len(places) != 1:
            raise self._refusal("its outputs are not at the same indices")
        return [next(s for s in stores if s.operands[1] == buffer) for buffer in self.buffers]

    def _update(self, store: ir.Operation) -> ir.Operation:
        owner = store.operands[0].owner
        operation = None if isinstance(owner, ir.Block) else owner.operation
        if operation is None or operation.name not in ("arith.select", *_EXTREMES):
            raise self._refusal("what it stores is not one of two values")
        return operation

    def _choices(self, update: ir.Operation) -> list[ir.Value]:
        return list(update.operands)[-2:]

    def _keeps(self, number: int, update: ir.Operation) -> bool:
        """True when the condition keeps the old element."""
        return _key(self._choices(update)[0]) == self.old[number]

    def _candidate(self, number: int, update: ir.Operation) -> Key:
        keys = [_key(v) for v in self._choices(update)]
        others = [key for key in keys if key != self.old[number]]
        if len(others) != 1 or any(_contains(others[0], old) for old in self.old):
            raise self._refusal("it does not choose between the old element and a new value")
        return others[0]

    def _order(self, condition: ir.Value) -> tuple[str, bool]:
        """("g" where the larger is kept or "l", whether ties go by order) of a condition."""
        simple = self._relation(condition)
        if simple is not None:
            relation, _ = simple
            if relation == "eq":
                raise self._refusal("it compares for equality")
            return relation[0], True
        either = _operands(condition, "arith.ori")
        for strict, tie in (either, either[::-1]):
            found, both = self._relation(strict), _operands(tie, "arith.andi")
            parts = [self._relation(part) for part in both]
            if found is None or None in parts or len(parts) != 2:
                continue
            equal = [p for p in parts if p == ("eq", found[1])]
            index = [p for p in parts if p is not None and p[0] != "eq" and p[1] != found[1]]
            if equal and index and found[0] in ("gt", "lt"):
                return found[0][0], False
        raise self._refusal("its condition does not compare the old elements with the new values")

    def _relation(self, value: ir.Value) -> tuple[str, int] | None:
        """(relation, which pair) of a comparison of an old element with its new value."""
        owner = value.owner
        op = None if isinstance(owner, ir.Block) else owner.operation
        if op is None or op.name not in _RELATIONS:
            return None
        relation = _RELATIONS[op.name].get(ir.IntegerAttr(op.attributes["predicate"]).value)
        keys = [_key(v) for v in op.operands]
        for number, pair in enumerate(zip(self.old, self.new, strict=True)):
            if relation is not None and keys == list(pair):
                return relation, number
            if relation is not None and keys == list(pair)[::-1]:
                return _MIRRORED[relation], number
        return None


def _operands(value: ir.Value, name: str) -> list[ir.Value]:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != name:
        return [value, value]
    return list(owner.operation.operands)


def _contains(key: Key, part: Key) -> bool:
    return key == part or (isinstance(key, tuple) and any(_contains(k, part) for k in key))
