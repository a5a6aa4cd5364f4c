"""Emission helpers of the vector strategies.

An index is a Python int while it is known and an `ir.Value` otherwise (`Index`); arithmetic on
known indices happens here, so that static shapes leave no arithmetic in the IR.  Constants are
made once, at the top of the function.  Memory is addressed through flat views: one-dimensional
memrefs over the whole buffer, with linear offsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.mlir import ir

__all__ = [
    "Builder",
    "FlatView",
    "Index",
    "defining_op",
    "is_zero_constant",
    "next_power_of_two",
    "reinterpreted",
]

Index = int | ir.Value

_PREDICATES = {
    "eq": 0,
    "ne": 1,
    "slt": 2,
    "sle": 3,
    "sgt": 4,
    "sge": 5,
    "ult": 6,
    "ule": 7,
    "ugt": 8,
    "uge": 9,
}


@dataclass(frozen=True)
class FlatView:
    """A one-dimensional view over a whole buffer.

    group: so many narrow elements of the buffer are loaded as one of `element_type`.
    step: elements of the buffer from one offset to the next.
    """

    value: ir.Value
    element_type: ir.Type
    group: int = 1
    step: int = 1


_CACHE_LINE = 64


def reinterpreted(
    memref: ir.Value, type_: ir.MemRefType, sizes: Sequence[ir.Value] = ()
) -> ir.Value:
    """A row-major buffer as one of another row-major type, at the insertion point; `sizes` has the
    first size where the type does not know it."""
    shape = list(type_.shape)
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get(shape),
        "static_strides": ir.DenseI64ArrayAttr.get(
            [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
        ),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(sizes), 0]),
    }
    return ir.Operation.create(
        "memref.reinterpret_cast", [type_], [memref, *sizes], attributes
    ).result


class Builder:
    """Builds index arithmetic, loops and vector accesses at the current insertion point.

    `entry` is the entry block of the enclosing function; constants go there.
    """

    def __init__(self, entry: ir.Block):
        self.entry = entry
        self.index_type = ir.IndexType.get()
        self.i1 = ir.IntegerType.get_signless(1)
        self._constants: dict[tuple[ir.Type, ir.Attribute], ir.Value] = {}
        self._i64 = ir.IntegerType.get_signless(64)
        # Of the innermost parallel loop that is being written: it, its index, its iterations.
        self._parallel: tuple[ir.Operation, ir.Value, Index] | None = None

    # Operations and constants

    def op(
        self,
        name: str,
        result: ir.Type,
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """An operation with one result."""
        return ir.Operation.create(
            name, results=[result], operands=operands, attributes=attributes or {}
        ).result

    def stmt(
        self,
        name: str,
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> None:
        """An operation without results."""
        ir.Operation.create(name, results=[], operands=operands, attributes=attributes or {})

    def constant(self, type_: ir.Type, attribute: ir.Attribute) -> ir.Value:
        """`arith.constant` at the top of the function, made once for each type and value."""
        key = (type_, attribute)
        value = self._constants.get(key)
        if value is None:
            with ir.InsertionPoint.at_block_begin(self.entry):
                value = self.op("arith.constant", type_, [], {"value": attribute})
            self._constants[key] = value
        return value

    def scalar(self, value: float | int, type_: ir.Type) -> ir.Value:
        """A constant of a float, integer or index type."""
        if isinstance(type_, ir.FloatType):
            return self.constant(type_, ir.FloatAttr.get(type_, float(value)))
        return self.constant(type_, ir.IntegerAttr.get(type_, int(value)))

    def zero(self, type_: ir.Type) -> ir.Value:
        """The zero of a scalar type, or of a vector of one."""
        if not isinstance(type_, ir.VectorType):
            return self.scalar(0, type_)
        element = type_.element_type
        if isinstance(element, ir.FloatType):
            attribute: ir.Attribute = ir.FloatAttr.get(element, 0.0)
        else:
            attribute = ir.IntegerAttr.get(element, 0)
        return self.constant(type_, ir.DenseElementsAttr.get_splat(type_, attribute))

    # Index arithmetic

    def index(self, value: Index) -> ir.Value:
        """The SSA value of an index."""
        return self.scalar(value, self.index_type) if isinstance(value, int) else value

    def _index_op(self, name: str, lhs: Index, rhs: Index) -> ir.Value:
        return self.op(name, self.index_type, [self.index(lhs), self.index(rhs)])

    def add(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if isinstance(lhs, int) and lhs == 0:
            return rhs
        if isinstance(rhs, int) and rhs == 0:
            return lhs
        return self._index_op("arith.addi", lhs, rhs)

    def sub(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs - rhs
        if isinstance(rhs, int) and rhs == 0:
            return lhs
        return self._index_op("arith.subi", lhs, rhs)

    def mul(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        for known, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(known, int) and known in (0, 1):
                return other if known else 0
        return self._index_op("arith.muli", lhs, rhs)

    def floordiv(self, lhs: Index, rhs: Index) -> Index:
        """Quotient of indices that are not negative."""
        if isinstance(rhs, int) and rhs == 1:
            return lhs
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs // rhs
        return self._index_op("arith.divui", lhs, rhs)

    def mod(self, lhs: Index, rhs: Index) -> Index:
        """Remainder of indices that are not negative."""
        if isinstance(rhs, int) and rhs == 1:
            return 0
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs % rhs
        return self._index_op("arith.remui", lhs, rhs)

    def ceildiv(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return -(-lhs // rhs)
        return self.floordiv(self.add(lhs, self.sub(rhs, 1)), rhs)

    def round_down(self, value: Index, multiple: int) -> Index:
        """The largest multiple that is not above `value`."""
        return self.mul(self.floordiv(value, multiple), multiple)

    def minimum(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return min(lhs, rhs)
        return self._index_op("arith.minsi", lhs, rhs)

    def maximum(self, lhs: Index, rhs: Index) -> Index:
        if isinstance(lhs, int) and isinstance(rhs, int):
            return max(lhs, rhs)
        return self._index_op("arith.maxsi", lhs, rhs)

    def compare(self, predicate: str, lhs: Index, rhs: Index) -> ir.Value:
        """`arith.cmpi` of two indices."""
        attribute = ir.IntegerAttr.get(self._i64, _PREDICATES[predicate])
        operands = [self.index(lhs), self.index(rhs)]
        return self.op("arith.cmpi", self.i1, operands, {"predicate": attribute})

    def at_least(self, value: Index, least: int) -> ir.Value | bool:
        """Whether an index is not below a bound."""
        if isinstance(value, int):
            return value >= least
        return self.compare("sge", value, least)

    def at_most(self, value: Index, most: int) -> ir.Value | bool:
        """Whether an index is not above a bound."""
        if isinstance(value, int):
            return value <= most
        return self.compare("sle", value, most)

    def all_of(self, conditions: Sequence[ir.Value | bool]) -> ir.Value | bool:
        """The conjunction of conditions."""
        return self._joined("arith.andi", conditions, neutral=True)

    def any_of(self, conditions: Sequence[ir.Value | bool]) -> ir.Value | bool:
        """The disjunction of conditions."""
        return self._joined("arith.ori", conditions, neutral=False)

    def _joined(
        self, name: str, conditions: Sequence[ir.Value | bool], neutral: bool
    ) -> ir.Value | bool:
        known = [condition for condition in conditions if isinstance(condition, bool)]
        if any(condition is not neutral for condition in known):
            return not neutral
        unknown = [condition for condition in conditions if not isinstance(condition, bool)]
        if not unknown:
            return neutral
        result = unknown[0]
        for condition in unknown[1:]:
            result = self.op(name, self.i1, [result, condition])
        return result

    def select(self, condition: ir.Value, then: Index, otherwise: Index) -> ir.Value:
        operands = [condition, self.index(then), self.index(otherwise)]
        return self.op("arith.select", operands[1].type, operands)

    # Control flow

    @contextmanager
    def loop(self, lower: Index, upper: Index, step: Index = 1) -> Iterator[Index]:
        """`scf.for` without carried values; a loop that is known to run once leaves no loop."""
        if _runs_once(lower, upper, step):
            yield lower
            return
        bounds = [self.index(lower), self.index(upper), self.index(step)]
        loop = ir.Operation.create("scf.for", results=[], operands=bounds, regions=1)
        block = loop.regions[0].blocks.append(self.index_type)
        with ir.InsertionPoint(block):
            yield block.arguments[0]
            self.stmt("scf.yield", [])

    @contextmanager
    def parallel_loop(self, count: Index) -> Iterator[Index]:
        """`scf.parallel` over 0 ... count - 1."""
        bounds = [self.index(0), self.index(count), self.index(1)]
        segments = ir.DenseI32ArrayAttr.get([1, 1, 1, 0])
        loop = ir.Operation.create(
            "scf.parallel",
            results=[],
            operands=bounds,
            attributes={"operandSegmentSizes": segments},
            regions=1,
        )
        block = loop.regions[0].blocks.append(self.index_type)
        around, self._parallel = self._parallel, (loop, block.arguments[0], count)
        with ir.InsertionPoint(block):
            yield block.arguments[0]
            self.stmt("scf.reduce", [])
        self._parallel = around

    def carried_loop(
        self,
        lower: Index,
        upper: Index,
        step: Index,
        initial: Sequence[ir.Value],
        body: Callable[[Index, list[ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        """`scf.for` that carries values; `body(i, values)` returns the next ones."""
        if _runs_never(lower, upper):
            return list(initial)
        if _runs_once(lower, upper, step):
            return body(lower, list(initial))
        types = [value.type for value in initial]
        bounds = [self.index(lower), self.index(upper), self.index(step)]
        loop = ir.Operation.create(
            "scf.for", results=types, operands=[*bounds, *initial], regions=1
        )
        block = loop.regions[0].blocks.append(self.index_type, *types)
        with ir.InsertionPoint(block):
            arguments = list(block.arguments)
            self.stmt("scf.yield", body(arguments[0], arguments[1:]))
        return list(loop.results)

    def when(
        self,
        condition: ir.Value | bool,
        then: Callable[[], None],
        otherwise: Callable[[], None] | None = None,
    ) -> None:
        """`scf.if` without results; a condition known here picks its branch here."""
        if isinstance(condition, bool):
            branch = then if condition else otherwise
            if branch is not None:
                branch()
            return
        op = ir.Operation.create("scf.if", results=[], operands=[condition], regions=2)
        self._branch(op.regions[0], then)
        if otherwise is not None:
            self._branch(op.regions[1], otherwise)

    def choose(
        self,
        condition: ir.Value,
        then: Callable[[], list[ir.Value]],
        otherwise: Callable[[], list[ir.Value]],
        types: Sequence[ir.Type],
    ) -> list[ir.Value]:
        """`scf.if` that yields the values of the branch taken."""
        op = ir.Operation.create("scf.if", results=types, operands=[condition], regions=2)
        for region, branch in zip(op.regions, (then, otherwise), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                self.stmt("scf.yield", branch())
        return list(op.results)

    def switch(self, value: Index, cases: dict[int, Callable[[], None]]) -> None:
        """`scf.index_switch`; does nothing for a value without a case."""
        if isinstance(value, int):
            cases.get(value, lambda: None)()
            return
        attribute = ir.DenseI64ArrayAttr.get(list(cases))
        op = ir.Operation.create(
            "scf.index_switch",
            results=[],
            operands=[value],
            attributes={"cases": attribute},
            regions=len(cases) + 1,
        )
        self._branch(op.regions[0], lambda: None)
        for region, body in zip(list(op.regions)[1:], cases.values(), strict=True):
            self._branch(region, body)

    def _branch(self, region: ir.Region, body: Callable[[], None]) -> None:
        with ir.InsertionPoint(region.blocks.append()):
            body()
            self.stmt("scf.yield", [])

    # Memory

    def memref_dim(self, memref: ir.Value, dim: int) -> Index:
        """Size of a memref dimension, an int when the type knows it."""
        type_ = ir.MemRefType(memref.type)
        if not type_.is_dynamic_dim(dim):
            return type_.get_dim_size(dim)
        return self.op("memref.dim", self.index_type, [memref, self.index(dim)])

    def flat_view(self, memref: ir.Value) -> FlatView:
        """The buffer as a one-dimensional memref; its layout must be row-major."""
        type_ = ir.MemRefType(memref.type)
        if type_.rank == 1:
            return FlatView(memref, type_.element_type)
        size: Index = 1
        for dim in range(type_.rank):
            size = self.mul(size, self.memref_dim(memref, dim))
        shape = [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size()]
        flat = ir.MemRefType.get(shape, type_.element_type, memory_space=type_.memory_space)
        sizes = [] if isinstance(size, int) else [size]
        return FlatView(reinterpreted(memref, flat, sizes), type_.element_type)

    def scratch(self, elements: Index, element_type: ir.Type) -> FlatView:
        """A flat temporary, aligned to a cache line; in a parallel loop every iteration has its
        own."""
        return FlatView(self._allocated(elements, element_type), element_type)

    def lent_scratch(self, elements: int, element_type: ir.Type) -> FlatView:
        """The same as a part of a temporary in front of the parallel loop around, if there is one:
        the kernel is lent that memory, and does not allocate it in every call.  For what all cores
        make of the same data: what a core makes of its own is in its cache if it allocates it."""
        if self._parallel is None or not isinstance(self._parallel[2], int):
            return self.scratch(elements, element_type)
        loop, number, count = self._parallel
        line = _CACHE_LINE * 8 // element_type.width
        stride = -(-elements // line) * line
        with ir.InsertionPoint(loop):
            whole = self._allocated(count * stride, element_type)
        return FlatView(self._part(whole, self.mul(number, stride), elements), element_type)

    def _allocated(self, elements: Index, element_type: ir.Type) -> ir.Value:
        static = isinstance(elements, int)
        shape = [elements if static else ir.ShapedType.get_dynamic_size()]
        attributes = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0 if static else 1, 0]),
            "alignment": ir.IntegerAttr.get(self._i64, _CACHE_LINE),
        }
        type_ = ir.MemRefType.get(shape, element_type)
        operands = [] if static else [self.index(elements)]
        return self.op("memref.alloc", type_, operands, attributes)

    def _part(self, whole: ir.Value, start: Index, elements: int) -> ir.Value:
        """Elements of a flat buffer from one on that only run time knows."""
        dynamic = ir.ShapedType.get_dynamic_size()
        layout = ir.StridedLayoutAttr.get(dynamic, [1])
        type_ = ir.MemRefType.get([elements], ir.MemRefType(whole.type).element_type, layout)
        attributes = {
            "static_offsets": ir.DenseI64ArrayAttr.get([dynamic]),
            "static_sizes": ir.DenseI64ArrayAttr.get([elements]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
        }
        return self.op("memref.reinterpret_cast", type_, [whole, self.index(start)], attributes)

    def load(
        self, view: FlatView, offset: Index, lanes: int, mask: ir.Value | None = None
    ) -> ir.Value:
        """`lanes` consecutive elements (one scalar for 1); lanes outside the mask are zero."""
        if view.group > 1:
            return self._load_groups(view, offset, lanes, mask)
        where = [view.value, self.index(offset)]
        if lanes == 1:
            return self.op("memref.load", view.element_type, where)
        type_ = self.vector_type(lanes, view.element_type)
        if mask is None:
            return self.op("vector.load", type_, where)
        return self.op("vector.maskedload", type_, [*where, mask, self.zero(type_)])

    def _load_groups(
        self, view: FlatView, offset: Index, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        stored = FlatView(view.value, ir.MemRefType(view.value.type).element_type)
        if mask is not None:
            mask = self.shuffle((mask, mask), [i // view.group for i in range(lanes * view.group)])
        loaded = self.load(stored, self.mul(offset, view.step), lanes * view.group, mask)
        groups = self.op("vector.bitcast", self.vector_type(lanes, view.element_type), [loaded])
        if lanes > 1:
            return groups
        position = {"static_position": ir.DenseI64ArrayAttr.get([0])}
        return self.op("vector.extract", view.element_type, [groups], position)

    def prefetch(self, view: FlatView, offset: Index, to_write: bool = False) -> None:
        """Ask for a cache line to be brought into the second-level cache, or `to_write` into this
        core's alone; any offset will do."""
        attributes: dict[str, ir.Attribute] = {
            "isWrite": ir.BoolAttr.get(to_write),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
            "isDataCache": ir.BoolAttr.get(True),
        }
        where = [view.value, self.index(self.mul(offset, view.step))]
        self.stmt("memref.prefetch", where, attributes)

    def store(
        self, value: ir.Value, view: FlatView, offset: Index, mask: ir.Value | None = None
    ) -> None:
        """Store a scalar, or a vector of consecutive elements under a mask."""
        where = [view.value, self.index(offset)]
        if not isinstance(value.type, ir.VectorType):
            self.stmt("memref.store", [value, *where])
        elif mask is None:
            self.stmt("vector.store", [value, *where])
        else:
            self.stmt("vector.maskedstore", [*where, mask, value])

    # Vectors

    def vector_type(self, lanes: int, element_type: ir.Type) -> ir.VectorType:
        return ir.VectorType.get([lanes], element_type)

    def mask(self, lanes: int, active: Index) -> ir.Value:
        """The mask whose first `active` lanes are set (all of them for more)."""
        type_ = self.vector_type(lanes, self.i1)
        if isinstance(active, int):
            bits = ir.DenseI64ArrayAttr.get([min(active, lanes)])
            return self.op("vector.constant_mask", type_, [], {"mask_dim_sizes": bits})
        return self.op("vector.create_mask", type_, [active])

    def broadcast(self, value: ir.Value, lanes: int) -> ir.Value:
        """A scalar in every lane; vectors, and scalars for one lane, stay as they are."""
        if lanes == 1 or isinstance(value.type, ir.VectorType):
            return value
        return self.op("vector.broadcast", self.vector_type(lanes, value.type), [value])

    def shuffle(self, pair: Sequence[ir.Value], lanes: Sequence[int]) -> ir.Value:
        """Lanes of two vectors of one type, those of the second numbered behind the first's."""
        attribute = ir.DenseI64ArrayAttr.get(list(lanes))
        type_ = self.vector_type(len(lanes), ir.VectorType(pair[0].type).element_type)
        return self.op("vector.shuffle", type_, list(pair), {"mask": attribute})

    def fma(self, lhs: ir.Value, rhs: ir.Value, addend: ir.Value) -> ir.Value:
        return self.op("math.fma", addend.type, [lhs, rhs, addend])


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The operation a value is a result of; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def is_zero_constant(value: ir.Value) -> bool:
    """Whether a value is the constant zero."""
    op = defining_op(value)
    return op is not None and op.name == "arith.constant" and op.attributes["value"].value == 0


def next_power_of_two(value: int) -> int:
    """The smallest power of two that is not below `value`."""
    return 1 << max(0, value - 1).bit_length()


def _runs_never(lower: Index, upper: Index) -> bool:
    return isinstance(lower, int) and isinstance(upper, int) and upper <= lower


def _runs_once(lower: Index, upper: Index, step: Index) -> bool:
    if not isinstance(lower, int) or not isinstance(upper, int) or not isinstance(step, int):
        return False
    return lower < upper <= lower + step
