"""Reductions that find a position: argmax and argmin along a contiguous dimension.

Every lane keeps its best value and where it was; at the end the best value of all lanes is found,
and among the lanes that hold it the first (or last) position.  Of long rows only the block of
vectors is kept, and the block that holds the best value is searched at the end: half the
instructions.  A NaN is better than any number, the first one counts, as in numpy; a long row that
has one is gone through again.  `let_nan_win` gives the scalar body the same rule, so that all
strategies agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.linalg_to_vector.body import narrowed, wide_type, widened
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index, defining_op
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access, LoopNest
from relax_mlir.lowering.linalg_to_vector.register_transpose import lane_totals
from relax_mlir.mlir import ir

__all__ = ["ArgReduction", "emit_arg_reduction", "let_nan_win", "plan_arg_reduction"]

_UNROLL = 4
# Vectors in a block, and the fewest blocks of a row that pay for the search of one.
_BLOCK, _LEAST_BLOCKS = 4, 2
# Predicates: which side of a comparison is the better one.
_FLOAT_BETTER = {2: "max", 4: "min"}  # ogt, olt
_INT_BETTER = {4: "max", 2: "min"}  # sgt, slt
_FLOAT = {"oeq": 1, "olt": 4, "ogt": 2, "ole": 5, "oge": 3, "ult": 11, "ugt": 9, "ule": 12,
          "uge": 10, "ord": 7, "uno": 14}  # fmt: skip
_INT = {"slt": 2, "sle": 3, "sgt": 4, "sge": 5, "eq": 0, "ne": 1}


@dataclass(frozen=True)
class ArgReduction:
    """An argmax ("max") or argmin over `dim` of `value`; `last`: of equal ones the last counts.

    index_out, value_out: the operands that hold position and value.
    """

    kind: str
    last: bool
    dim: int
    value: int
    index_out: int
    value_out: int
    lanes: int = 1


@dataclass(frozen=True)
class _Body:
    """What the scalar body does: the comparisons it makes, and the values compared."""

    better: ir.Operation
    better_uses: ir.Value
    kind: str
    last: bool
    value: ir.Value
    index_dim: int | None  # None: the position is no plain dimension


def plan_arg_reduction(nest: LoopNest, target: CPUTarget) -> ArgReduction | None:
    """How to find positions by vectors; None if a (simplified) nest is not of this kind."""
    body = _match(nest.body.block, len(nest.body.results))
    if body is None or body.index_dim is None or sum(nest.reduction) != 1:
        return None
    dim = nest.index_dims[body.index_dim]
    arguments = list(nest.body.block.arguments)
    value = nest.body.arguments[arguments.index(body.value)]
    index_out, value_out = nest.body.results
    if dim is None or not nest.reduction[dim] or value in nest.body.results:
        return None
    if nest.stride(value, dim) != ONE or nest.operands[value].is_scalar:
        return None
    if any(nest.stride(out, dim) != ZERO for out in nest.body.results):
        return None
    element = nest.operands[value].element_type
    lanes = min(16, target.lanes(max(32, element.width)))
    if lanes < 2 or nest.extents[dim].static in (0, 1):
        return None
    return ArgReduction(body.kind, body.last, dim, value, index_out, value_out, lanes)


def let_nan_win(block: ir.Block, results: int) -> None:
    """Make the body of an argmax or argmin keep a NaN that it has met."""
    body = _match(block, results)
    if body is None or body.better.name != "arith.cmpf":
        return
    if defining_op(body.better_uses) != body.better:  # done already
        return
    kept = body.better.operands[0]
    with ir.InsertionPoint.at_block_begin(block), body.better.location:
        b = Builder(block)
        is_nan = _compare(b, "arith.cmpf", _FLOAT["uno"], kept, kept)
        copy = body.better.clone()
        joined = b.op("arith.ori", b.i1, [copy.result, is_nan])
    for view in list(block.operations):
        op = view.operation
        if _is_same_comparison(op, body.better) and op != body.better and op != copy:
            op.result.replace_all_uses_with(joined)
    body.better.result.replace_all_uses_with(joined)


def _is_same_comparison(op: ir.Operation, other: ir.Operation) -> bool:
    if op.name != other.name or list(op.operands) != list(other.operands):
        return False
    return op.attributes["predicate"] == other.attributes["predicate"]


def _match(block: ir.Block, results: int) -> _Body | None:
    """Recognise `keep ? acc : new` for a position and a value, where `keep` is
    `acc > x or (acc == x and i_acc < i)`."""
    if results != 2:
        return None
    accumulated = list(block.arguments)[-2:]
    yielded = list(list(block.operations)[-1].operation.operands)
    makers = [defining_op(value) for value in yielded]
    selects = [op for op in makers if op is not None and op.name == "arith.select"]
    if len(selects) != 2:
        return None
    keep_index, kept_index, index = selects[0].operands
    keep_value, kept_value, value = selects[1].operands
    index_dim = _index_dim(index)
    if [kept_index, kept_value] != accumulated:
        return None
    better = _comparison_of(keep_value, kept_value, value)
    if better is None or not isinstance(value.owner, ir.Block):
        return None
    table = _FLOAT_BETTER if better.name == "arith.cmpf" else _INT_BETTER
    kind = table.get(ir.IntegerAttr(better.attributes["predicate"]).value)
    last = _tie_rule(keep_index, better, kept_index, index, kept_value, value)
    if kind is None or last is None:
        return None
    return _Body(better, keep_value, kind, last, value, index_dim)


def _is_same_value(first: ir.Value, second: ir.Value) -> bool:
    """Whether two values are computed in the same way."""
    if first == second:
        return True
    one, other = defining_op(first), defining_op(second)
    if one is None or other is None or one.name != other.name or one.name == "memref.load":
        return False
    names = list(one.attributes)
    if names != list(other.attributes) or any(
        one.attributes[name] != other.attributes[name] for name in names
    ):
        return False
    pairs = list(zip(one.operands, other.operands, strict=True))
    return all(_is_same_value(left, right) for left, right in pairs)


def _index_dim(value: ir.Value) -> int | None:
    """The dimension whose `linalg.index` a value is, through casts."""
    op = defining_op(value)
    while op is not None and op.name in ("arith.index_cast", "arith.extsi", "arith.trunci"):
        op = defining_op(op.operands[0])
    if op is None or op.name != "linalg.index":
        return None
    return ir.IntegerAttr(op.attributes["dim"]).value


def _comparison_of(condition: ir.Value, left: ir.Value, right: ir.Value) -> ir.Operation | None:
    """The comparison of two values that a condition is, alone or with "or left is NaN"."""
    op = defining_op(condition)
    if op is not None and op.name == "arith.ori":
        test = defining_op(op.operands[1])
        if test is None or test.name != "arith.cmpf" or list(test.operands) != [left, left]:
            return None
        op = defining_op(op.operands[0])
    if op is None or op.name not in ("arith.cmpf", "arith.cmpi"):
        return None
    return op if list(op.operands) == [left, right] else None


def _tie_rule(
    condition: ir.Value,
    better: ir.Operation,
    kept_index: ir.Value,
    index: ir.Value,
    kept_value: ir.Value,
    value: ir.Value,
) -> bool | None:
    """Whether of equal values the last counts; None if the condition is not as expected."""
    either = defining_op(condition)
    if either is None or either.name != "arith.ori":
        return None
    first = _comparison_of(either.operands[0], kept_value, value)
    tie = defining_op(either.operands[1])
    if first is None or not _is_same_comparison(first, better):
        return None
    if tie is None or tie.name != "arith.andi":
        return None
    equal, earlier = (defining_op(operand) for operand in tie.operands)
    if equal is None or earlier is None or list(equal.operands) != [kept_value, value]:
        return None
    wanted = _FLOAT["oeq"] if equal.name == "arith.cmpf" else _INT["eq"]
    if ir.IntegerAttr(equal.attributes["predicate"]).value != wanted:
        return None
    if earlier.name != "arith.cmpi" or earlier.operands[0] != kept_index:
        return None
    if not _is_same_value(earlier.operands[1], index):
        return None
    predicate = ir.IntegerAttr(earlier.attributes["predicate"]).value
    return {_INT["slt"]: False, _INT["sgt"]: True}.get(predicate)


def emit_arg_reduction(
    plan: ArgReduction, nest: LoopNest, b: Builder, initial: dict[int, ir.Value]
) -> None:
    """Emit the nest.  What the outputs hold before is the neutral element, by the kind's rule, and
    is not read."""
    _Emitter(b, nest, plan).emit()


def _compare(b: Builder, name: str, predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    type_: ir.Type = b.i1
    if isinstance(left.type, ir.VectorType):
        type_ = b.vector_type(left.type.shape[0], b.i1)
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return b.op(name, type_, [left, right], {"predicate": number})


class _Emitter:
    def __init__(self, b: Builder, nest: LoopNest, plan: ArgReduction):
        self.b = b
        self.nest = nest
        self.plan = plan
        self.extents = [nest.emit_extent(b, extent) for extent in nest.extents]
        self.element = wide_type(nest.operands[plan.value].element_type)
        self.is_float = isinstance(self.element, ir.FloatType)
        size = nest.extents[plan.dim].static
        bits = 32 if size is not None and size < 1 << 31 else 64
        self.index = ir.IntegerType.get_signless(bits)
        self.values = b.vector_type(plan.lanes, self.element)
        self.indices = b.vector_type(plan.lanes, self.index)
        self.worst = -1 if plan.last else (1 << (bits - 1)) - 1

    def emit(self) -> None:
        dims = [dim for dim in range(self.nest.rank) if dim != self.plan.dim]
        self._emit_rows(dims, self.nest.emit_accesses(self.b))

    def _emit_rows(self, dims: list[int], accesses: list[Access]) -> None:
        if not dims:
            self._emit_row(accesses)
            return
        with self.b.loop(0, self.extents[dims[0]]) as position:
            moved = [access.advanced(self.b, dims[0], position) for access in accesses]
            self._emit_rows(dims[1:], moved)

    def _emit_row(self, accesses: list[Access]) -> None:
        b = self.b
        long = b.at_least(self.extents[self.plan.dim], _LEAST_BLOCKS * _BLOCK * self.plan.lanes)
        if isinstance(long, bool):
            left = self._emit_by_blocks(accesses) if long else True
        else:

            def by_blocks() -> list[ir.Value]:
                left = self._emit_by_blocks(accesses)
                return [b.scalar(left, b.i1) if isinstance(left, bool) else left]

            left = b.choose(long, by_blocks, lambda: [b.scalar(True, b.i1)], [b.i1])[0]
        b.when(left, partial(self._emit_by_lanes, accesses))

    def _emit_by_lanes(self, accesses: list[Access]) -> None:
        b, plan = self.b, self.plan
        extent = self.extents[plan.dim]
        lowest = self._lowest()
        start = [b.broadcast(lowest, plan.lanes)] * _UNROLL
        places = [self._first_places(vector, extent) for vector in range(_UNROLL)]
        main_end = b.round_down(extent, plan.lanes * _UNROLL)
        whole_end = b.round_down(extent, plan.lanes)

        def step(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            count = len(carried) // 2
            pairs = [
                self._better(accesses, position, vector, carried[vector], carried[count + vector])
                for vector in range(count)
            ]
            return [value for value, _ in pairs] + [place for _, place in pairs]

        carried = b.carried_loop(0, main_end, plan.lanes * _UNROLL, [*start, *places], step)
        values, indices = carried[:_UNROLL], carried[_UNROLL:]
        first = b.carried_loop(main_end, whole_end, plan.lanes, [values[0], indices[0]], step)

        def masked(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            mask = b.mask(plan.lanes, b.sub(extent, position))
            value, place = carried
            return list(self._better(accesses, position, 0, value, place, mask))

        first = b.carried_loop(whole_end, extent, plan.lanes, first, masked)
        self._finish(accesses, [first[0], *values[1:]], [first[1], *indices[1:]])

    def _lowest(self) -> ir.Value:
        largest = self.plan.kind == "max"
        if self.is_float:
            return self.b.scalar(float("-inf") if largest else float("inf"), self.element)
        bits = self.element.width
        bound = -(1 << (bits - 1)) if largest else (1 << (bits - 1)) - 1
        return self.b.scalar(bound, self.element)

    def _first_places(self, vector: int, extent: Index) -> ir.Value:
        """Where the lanes of a vector begin; the worst place for those without an element."""
        b, lanes = self.b, self.plan.lanes
        places = self._places(vector * lanes)
        if isinstance(extent, int) and extent >= (vector + 1) * lanes:
            return places
        worst = b.broadcast(b.scalar(self.worst, self.index), lanes)
        exists = b.mask(lanes, b.maximum(b.sub(extent, vector * lanes), 0))
        return b.op("arith.select", self.indices, [exists, places, worst])

    def _places(self, position: Index) -> ir.Value:
        b, lanes = self.b, self.plan.lanes
        steps = ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(self.index, lane) for lane in range(lanes)], self.indices
        )
        counted = b.constant(self.indices, steps)
        start = b.broadcast(self._as_place(position), lanes)
        return b.op("arith.addi", self.indices, [start, counted])

    def _as_place(self, position: Index) -> ir.Value:
        if isinstance(position, int):
            return self.b.scalar(position, self.index)
        return self.b.op("arith.index_cast", self.index, [position])

    def _better(
        self,
        accesses: list[Access],
        position: Index,
        vector: int,
        value: ir.Value,
        place: ir.Value,
        mask: ir.Value | None = None,
    ) -> tuple[ir.Value, ir.Value]:
        """The better of what was found so far and the vector at a position."""
        b, plan = self.b, self.plan
        access = accesses[plan.value]
        assert access.view is not None
        position = b.add(position, vector * plan.lanes)
        loaded = b.load(access.view, b.add(access.base, position), plan.lanes, mask)
        loaded = widened(b, loaded, plan.lanes)
        taken = self._loses_to(value, loaded)
        if mask is not None:
            taken = b.op("arith.andi", taken.type, [taken, mask])
        new = self._places(position)
        return (
            b.op("arith.select", self.values, [taken, loaded, value]),
            b.op("arith.select", self.indices, [taken, new, place]),
        )

    def _loses_to(self, value: ir.Value, other: ir.Value) -> ir.Value:
        """Whether `other`, which comes later, replaces `value`."""
        b, largest, last = self.b, self.plan.kind == "max", self.plan.last
        if not self.is_float:
            names = ("sle", "sge") if last else ("slt", "sgt")
            return _compare(b, "arith.cmpi", _INT[names[0 if largest else 1]], value, other)
        names = ("ule", "uge") if last else ("ult", "ugt")
        lost = _compare(b, "arith.cmpf", _FLOAT[names[0 if largest else 1]], value, other)
        number = _compare(b, "arith.cmpf", _FLOAT["ord"], value, value)
        return b.op("arith.andi", lost.type, [lost, number])

    # Blocks

    def _emit_by_blocks(self, accesses: list[Access]) -> ir.Value | bool:
        """Find the best number of a row; whether there is a NaN, which it is not."""
        b, plan = self.b, self.plan
        extent, size = self.extents[plan.dim], plan.lanes * _BLOCK
        carried = [
            b.broadcast(self._lowest(), plan.lanes),
            b.broadcast(b.scalar(0, self.index), plan.lanes),
        ]
        if self.is_float:
            carried.append(b.zero(b.vector_type(plan.lanes, b.i1)))
        step = partial(self._block, accesses)
        end = b.round_down(extent, size)
        carried = b.carried_loop(0, end, size, carried, step)
        if end != extent:  # what is left, together with what it needs to be a block
            carried = step(b.sub(extent, size), carried)
        value, place, *unordered = carried
        self._search(accesses, value, place)
        if not unordered:
            return False
        word = self._word(unordered[0])
        return _compare(b, "arith.cmpi", _INT["ne"], word, b.scalar(0, word.type))

    def _block(
        self, accesses: list[Access], position: Index, carried: list[ir.Value]
    ) -> list[ir.Value]:
        """The better of what was found so far and a block: per lane the value and the block."""
        b, lanes = self.b, self.plan.lanes
        value, place, *unordered = carried
        loaded = [self._loaded(accesses, b.add(position, v * lanes), lanes) for v in range(_BLOCK)]
        best = loaded[0]
        for other in loaded[1:]:
            best = self._better_number(best, other)
        taken = self._is_beaten(value, best)
        start = b.broadcast(self._as_place(position), lanes)
        result = [
            b.op("arith.select", value.type, [taken, best, value]),
            b.op("arith.select", place.type, [taken, start, place]),
        ]
        for mask in unordered:
            for pair in zip(loaded[::2], loaded[1::2], strict=True):
                either = _compare(b, "arith.cmpf", _FLOAT["uno"], *pair)
                mask = b.op("arith.ori", mask.type, [mask, either])
            result.append(mask)
        return result

    def _loaded(self, accesses: list[Access], position: Index, lanes: int) -> ir.Value:
        b, access = self.b, accesses[self.plan.value]
        assert access.view is not None
        return widened(b, b.load(access.view, b.add(access.base, position), lanes), lanes)

    def _is_beaten(self, value: ir.Value, other: ir.Value) -> ir.Value:
        """Whether a number that comes later, `other`, replaces `value`."""
        equal = "e" if self.plan.last else "t"
        less = "l" if self.plan.kind == "max" else "g"
        if self.is_float:
            return _compare(self.b, "arith.cmpf", _FLOAT[f"o{less}{equal}"], value, other)
        return _compare(self.b, "arith.cmpi", _INT[f"s{less}{equal}"], value, other)

    def _better_number(self, one: ir.Value, other: ir.Value) -> ir.Value:
        beaten = self._is_beaten(one, other)
        return self.b.op("arith.select", one.type, [beaten, other, one])

    def _search(self, accesses: list[Access], value: ir.Value, place: ir.Value) -> None:
        """Find the best of all lanes in the block where it is, and store both."""
        b, plan = self.b, self.plan
        best = lane_totals(b, [value], self._better_number)[0]
        equal = self._equal(value, b.broadcast(best, plan.lanes))
        worst = b.broadcast(b.scalar(self.worst, self.index), plan.lanes)
        starts = b.op("arith.select", place.type, [equal, place, worst])
        join = f"arith.{'max' if plan.last else 'min'}si"
        start = lane_totals(b, [starts], lambda x, y: b.op(join, x.type, [x, y]))[0]
        size = plan.lanes * _BLOCK
        block = self._loaded(accesses, b.op("arith.index_cast", b.index_type, [start]), size)
        offset = self._bit(self._word(self._equal(block, b.broadcast(best, size))), size)
        self._store_value(accesses, best)
        index = b.op("arith.addi", self.index, [start, offset])
        self._store_index(accesses[plan.index_out], index)

    def _word(self, mask: ir.Value) -> ir.Value:
        """The lanes of a mask as the bits of an integer."""
        b = self.b
        word = ir.IntegerType.get_signless(ir.VectorType(mask.type).shape[0])
        whole = b.op("vector.bitcast", b.vector_type(1, word), [mask])
        position = {"static_position": ir.DenseI64ArrayAttr.get([0])}
        return b.op("vector.extract", word, [whole], position)

    def _bit(self, word: ir.Value, size: int) -> ir.Value:
        """Number of the first set bit of a word, or of the last one, as a position."""
        b, last = self.b, self.plan.last
        count = b.op("math.ctlz" if last else "math.cttz", word.type, [word])
        if last:
            count = b.op("arith.subi", word.type, [b.scalar(size - 1, word.type), count])
        width = self.index.width
        if size == width:
            return count
        return b.op("arith.trunci" if size > width else "arith.extui", self.index, [count])

    def _finish(
        self, accesses: list[Access], values: list[ir.Value], indices: list[ir.Value]
    ) -> None:
        b, plan = self.b, self.plan
        suffix = "imumf" if self.is_float else "si"
        best = self._join(f"arith.{plan.kind}{suffix}", f"{plan.kind}{suffix}", values)
        worst = b.broadcast(b.scalar(self.worst, self.index), plan.lanes)
        everywhere = b.broadcast(best, plan.lanes)
        places: list[ir.Value] = []
        for value, place in zip(values, indices, strict=True):
            holds = self._holds(value, everywhere)
            places.append(b.op("arith.select", self.indices, [holds, place, worst]))
        kind = "maxsi" if plan.last else "minsi"
        place = self._join(f"arith.{kind}", kind, places)
        self._store_value(accesses, best)
        self._store_index(accesses[plan.index_out], place)

    def _equal(self, value: ir.Value, best: ir.Value) -> ir.Value:
        if self.is_float:
            return _compare(self.b, "arith.cmpf", _FLOAT["oeq"], value, best)
        return _compare(self.b, "arith.cmpi", _INT["eq"], value, best)

    def _holds(self, value: ir.Value, best: ir.Value) -> ir.Value:
        equal = self._equal(value, best)
        if not self.is_float:
            return equal
        is_nan = _compare(self.b, "arith.cmpf", _FLOAT["uno"], value, value)
        return self.b.op("arith.ori", equal.type, [equal, is_nan])

    def _store_value(self, accesses: list[Access], best: ir.Value) -> None:
        out = accesses[self.plan.value_out]
        assert out.view is not None
        element = self.nest.operands[self.plan.value_out].element_type
        self.b.store(narrowed(self.b, best, element, 1), out.view, out.base)

    def _store_index(self, access: Access, place: ir.Value) -> None:
        b = self.b
        assert access.view is not None
        stored = access.view.element_type
        if stored.width != self.index.width:
            name = "arith.extsi" if stored.width > self.index.width else "arith.trunci"
            place = b.op(name, stored, [place])
        b.store(place, access.view, access.base)

    def _join(self, name: str, kind: str, parts: list[ir.Value]) -> ir.Value:
        b = self.b
        total = parts[0]
        for part in parts[1:]:
            total = b.op(name, total.type, [total, part])
        attributes = {"kind": ir.Attribute.parse(f"#vector.kind<{kind}>")}
        element = ir.VectorType(total.type).element_type
        return b.op("vector.reduction", element, [total], attributes)
