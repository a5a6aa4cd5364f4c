"""What lies between the elements of a buffer whose new layout has more places than elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import Error
from relax_mlir.mlir import arith, ir, memref, scf
from relax_mlir.tir import expr as E
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import refresh
from relax_mlir.tir.schedule.analysis import (
    bindings_of,
    init_of,
    not_complete,
    written_buffers,
)
from relax_mlir.tir.schedule.body import Copier, body_statements
from relax_mlir.tir.schedule.caching import index_dtype
from relax_mlir.tir.schedule.digits import Digit, digit_of
from relax_mlir.tir.schedule.error import Refusal
from relax_mlir.tir.schedule.index import Index, as_index, ceildiv, leaf, value_domain
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.inline import single_store
from relax_mlir.tir.schedule.reduction import copy_dtype
from relax_mlir.tir.schedule.state import (
    ScheduleState,
    add_access,
    erase_dead_arithmetic,
    new_block,
    new_loop,
)


@dataclass(frozen=True)
class Space:
    """The old indices as variables (of loops in a module of their own) and the new ones by them."""

    module: ir.Module
    variables: list[ir.Value]
    final: list[Index]
    sizes: list[int]

    def inverse(self, at: Sequence[Index]) -> list[Index] | None:
        """The old indices of a place; None when the map is no mixed radix of their digits."""
        parts: dict[ir.Value, list[tuple[int, int, Index]]] = {v: [] for v in self.variables}
        for position, index in zip(at, self.final, strict=True):
            reach = 1
            if index.constant:
                return None
            for monomial, k in sorted(index.terms.items(), key=lambda term: term[1]):
                digit = digit_of(monomial)
                count = None if digit is None else digit.modulus or self._count(digit)
                if digit is None or count is None or k != reach:
                    return None
                last = k * count >= index_limit(index)
                value = position // k if last else (position // k) % count
                parts[digit.variable].append((digit.divisor, count, value))
                reach = k * count
        return self._joined(parts)

    def _joined(self, parts: dict[ir.Value, list[tuple[int, int, Index]]]) -> list[Index] | None:
        old: list[Index] = []
        for variable, found in parts.items():
            digits, reach = sorted(found, key=lambda part: part[0]), 1
            for divisor, count, _ in digits:
                if divisor != reach:
                    return None
                reach = divisor * count
            if reach < self.extent(variable):
                return None
            old.append(sum((value * d for d, _, value in reversed(digits)), Index()))
        return old

    def _count(self, digit: Digit) -> int | None:
        return ceildiv(self.extent(digit.variable), digit.divisor).as_constant()

    def extent(self, variable: ir.Value) -> int:
        domain = value_domain(variable)
        assert domain is not None, "the variables are loops"
        size = domain[1].as_constant()
        assert size is not None, "of constant range"
        return size


def index_limit(index: Index) -> int:
    """One more than the largest value of an index of a space."""
    high = index.bounds()[1]
    assert high is not None, "the variables have constant ranges"
    return high + 1


@dataclass(frozen=True)
class Gaps:
    """The places of a layout that no element has, and what goes there."""

    space: Space
    names: list[str]
    value: IndexMap | int | float | None
    writers: list[BlockOp]

    @classmethod
    def of(
        cls, block: BlockOp, buffer: ir.Value, mapping: IndexMap, space: Space, pad_value: Any
    ) -> Gaps:
        name = nest.value_name(buffer)
        old = [space.extent(v) for v in space.variables]
        sizes = " x ".join(map(str, old)), " x ".join(map(str, space.sizes))
        if pad_value is None:
            raise Refusal(f"{mapping} needs padding: {sizes[0]} elements of {name} in {sizes[1]}",
                          block, hint="give a pad_value or factors that divide")  # fmt: skip
        probe = [leaf(v) for v in _probe(space)]
        if space.inverse(probe) is None:
            raise Refusal(f"{mapping} cannot be inverted to tell padding from elements", block)
        blocks = nest.blocks_of(nest.function_of(block))
        writers = [b for b in blocks if buffer in written_buffers(b)]
        inner = [b for b in writers if not any(c in writers for c in nest.child_blocks(b))]
        return cls(space, _names(mapping), _pad(pad_value, len(space.sizes), block), inner)

    def fill(self, state: ScheduleState, buffer: ir.Value, shape: Sequence[int]) -> None:
        """Store the padding: with the elements where one block makes them all, else after them."""
        if not self.writers:
            return
        last = self.writers[-1]
        top = self._own_nest(last) if len(self.writers) == 1 else None
        if top is None:
            self._fill_after(last, buffer, shape)
        else:
            self._fill_within(state, last, top, shape)

    def _own_nest(self, block: BlockOp) -> ForOp | None:
        """The outermost loop of a block that makes every element, one in each of its iterations."""
        around = nest.loops_around(block)
        bindings = bindings_of(block)
        alone = around and all(
            nest.statements(outer.block) == [inner]
            for outer, inner in zip(around, [*around[1:], block], strict=True)
        )
        plain = not_complete(block) is None and init_of(block) is None and not len(block.predicate)
        if not alone or not plain or bindings != [leaf(nest.loop_var(o)) for o in around]:
            return None
        try:
            element = single_store(block)
        except Refusal:
            return None
        serial = all(o.kind.value == "serial" and "annotations" not in o.operation.attributes
                     for o in around)  # fmt: skip
        values = [leaf(v) for v in nest.iter_vars(block)]
        extents = [self.space.extent(v) for v in self.space.variables]
        domains = [tuple(map(as_index, pair)) for pair in block.domain_pairs]
        whole = domains == [(Index(), Index({}, e)) for e in extents]
        own = dict(zip(self.space.variables, values, strict=False))
        same = len(values) == len(extents) and element.indices == [
            i.substitute(own) for i in self.space.final
        ]
        return around[0] if serial and whole and same else None

    def _fill_within(
        self, state: ScheduleState, block: BlockOp, top: ForOp, shape: Sequence[int]
    ) -> None:
        at = ir.InsertionPoint(top)
        wide = block.operation.attributes
        attributes = {"dtype": wide["iter_dtype"]} if "iter_dtype" in wide else {}
        new, inner = self._block(block.sym_name.value, shape, at, attributes)
        copy_dtype(block, new)
        if "annotations" in wide:
            new.operation.attributes["annotations"] = wide["annotations"]
        variables = [leaf(v) for v in nest.iter_vars(new)]
        old = self.space.inverse(variables)
        assert old is not None, "Gaps.of has inverted the map"
        element = single_store(block)
        kind = element.store.operands[0].type
        branch = scf.IfOp(self._is_gap(old, inner), [kind], has_else=True, ip=inner)
        at_then = ir.InsertionPoint(branch.then_block)
        scf.YieldOp([self._value(kind, variables, at_then)], ip=at_then)
        at_else = ir.InsertionPoint(branch.else_block)
        copier = Copier(at_else, dict(zip(nest.iter_vars(block), old, strict=True)))
        copier.clone_all(op for op in body_statements(block) if op.operation != element.store)
        scf.YieldOp([copier.value(element.store.operands[0])], ip=at_else)
        memref.StoreOp(branch.results[0], element.buffer, nest.iter_vars(new), ip=inner)
        state.moved(block, new)
        scope = nest.scope_of(block)
        state.erase(top)
        erase_dead_arithmetic(scope)
        refresh(new)

    def _fill_after(self, block: BlockOp, buffer: ir.Value, shape: Sequence[int]) -> None:
        outer = (nest.loops_around(block) or [block])[0]
        at = ir.InsertionPoint.after(outer)
        name = f"{nest.value_name(buffer, 'buffer')}_pad_fill"
        wide = index_dtype(buffer)
        new, inner = self._block(name, shape, at, wide)
        if wide:
            new.operation.attributes["iter_dtype"] = wide["dtype"]
        variables = [leaf(v) for v in nest.iter_vars(new)]
        add_access(WriteOp, buffer, [(v, Index({}, 1)) for v in variables], inner)
        old = self.space.inverse(variables)
        assert old is not None, "Gaps.of has inverted the map"
        branch = scf.IfOp(self._is_gap(old, inner), ip=inner)
        then = ir.InsertionPoint(branch.then_block)
        value = self._value(ir.MemRefType(buffer.type).element_type, variables, then)
        memref.StoreOp(value, buffer, nest.iter_vars(new), ip=then)
        scf.YieldOp([], ip=then)

    def _block(
        self, name: str, shape: Sequence[int], at: ir.InsertionPoint, attributes: Any
    ) -> tuple[BlockOp, ir.InsertionPoint]:
        rows = []
        for axis, size in zip(self.names, shape, strict=True):
            loop = new_loop(axis, size, at, attributes=attributes)
            at = ir.InsertionPoint(loop.block)
            rows.append((f"v_{axis}", "S", (Index(), Index({}, size)), leaf(nest.loop_var(loop))))
        block = new_block(name, rows, at)
        return block, ir.InsertionPoint(block.block)

    def _is_gap(self, old: Sequence[Index], at: ir.InsertionPoint) -> ir.Value:
        condition: ir.Value | None = None
        for variable, index in zip(self.space.variables, old, strict=True):
            extent = self.space.extent(variable)
            high = index.bounds()[1]
            if high is not None and high < extent:
                continue
            beyond = arith.CmpIOp(
                arith.CmpIPredicate.sle, write(Index({}, extent), at), write(index, at), ip=at
            ).result
            if condition is not None:
                beyond = arith.OrIOp(condition, beyond, ip=at).result
            condition = beyond
        assert condition is not None, "there are gaps"
        return condition

    def _value(self, kind: ir.Type, at: Sequence[Index], ip: ir.InsertionPoint) -> ir.Value:
        floating = isinstance(kind, ir.FloatType)
        if not isinstance(self.value, IndexMap):
            number = float(self.value or 0) if floating else int(self.value or 0)
            attr = ir.FloatAttr.get(kind, number) if floating else ir.IntegerAttr.get(kind, number)
            return arith.ConstantOp(kind, attr, ip=ip).result
        value = write(self.value.apply(list(at))[0], ip)
        if not floating:
            return arith.IndexCastOp(kind, value, ip=ip).result
        number = arith.IndexCastOp(ir.IntegerType.get_signless(32), value, ip=ip).result
        return arith.SIToFPOp(kind, number, ip=ip).result


def _probe(space: Space) -> list[ir.Value]:
    """Variables of the new space, to try the inverse with."""
    at = ir.InsertionPoint(space.module.body)
    return [new_loop(f"p{n}", s, at).induction_variable for n, s in enumerate(space.sizes)]


def _names(mapping: IndexMap) -> list[str]:
    """The loops of the new space: named after a variable that is an index as it is."""
    found = []
    for number, index in enumerate(mapping.final_indices):
        found.append(index.name if isinstance(index, E.Var) else f"axis{number}")
    return found


def _pad(given: Any, rank: int, block: BlockOp) -> IndexMap | int | float:
    if isinstance(given, (E.IntImm, E.FloatImm)):
        return given.value
    if isinstance(given, (bool, int, float)):
        return given
    try:
        made = IndexMap.of(given, rank)
        only = made.final_indices[0] if len(made.final_indices) == 1 else None
        if isinstance(only, (E.IntImm, E.FloatImm)):
            return only.value
        made.apply([Index() for _ in range(rank)])
    except (Error, TypeError, AttributeError):
        raise Refusal(f"pad_value {given!r} is neither a number nor a map from {rank} indices to "
                      "one", block) from None  # fmt: skip
    if len(made.final_indices) != 1:
        raise Refusal(f"pad_value gives {len(made.final_indices)} values", block)
    return made
