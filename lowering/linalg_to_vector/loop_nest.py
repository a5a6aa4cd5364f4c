"""Linalg ops as strided loop nests.

`parse` reads a `linalg.generic` (or `linalg.fill`) on row-major memrefs into a `LoopNest`: a list
of dimensions and, for every operand, how far one step along each dimension moves in the flat
buffer.  Whatever the strategies decide, they decide on these strides alone.  `simplify` drops
dimensions of size one and merges dimensions that every operand walks as one.

Sizes are products of an integer and of sizes known at run time (`Extent`), so that `n * 784` of one
operand is recognised as `n * 784` of another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index, defining_op
from relax_mlir.lowering.linalg_to_vector.quotients import divisors, take_quotients
from relax_mlir.mlir import ir

_Item = TypeVar("_Item")

__all__ = ["ONE", "ZERO", "Extent", "LoopNest", "Operand", "Stage", "linear_form", "parse"]


@dataclass(frozen=True)
class Extent:
    """`factor` times the run-time sizes named by `symbols` (positions in `LoopNest.symbols`)."""

    factor: int
    symbols: tuple[int, ...] = ()

    @property
    def static(self) -> int | None:
        """The value, if it does not depend on a run-time size."""
        return self.factor if not self.symbols else None

    def __mul__(self, other: Extent) -> Extent:
        if self.factor * other.factor == 0:
            return Extent(0)
        symbols = tuple(sorted(self.symbols + other.symbols))
        return Extent(self.factor * other.factor, symbols)

    def plus(self, other: Extent) -> Extent | None:
        """The sum, or None where it is no product."""
        if self.factor == 0:
            return other
        if other.factor == 0:
            return self
        if self.symbols != other.symbols:
            return None
        return Extent(self.factor + other.factor, self.symbols)


ZERO = Extent(0)
ONE = Extent(1)


@dataclass(frozen=True)
class Operand:
    """One operand of a nest.

    value: the memref, or a scalar that every iteration sees.
    strides: elements moved in the flat buffer by a step along each dimension of the nest.
    base: terms of the offset of the first element.
    dim_order: the dimension behind each index of the memref, where all are plain dimensions.
    coordinates: the same, None standing for the only position of a dimension of size one.
    quotients: elements moved when the quotient of a dimension and a divisor rises by one.
    group, step: those of the operand's view, see `FlatView`.
    """

    value: ir.Value
    element_type: ir.Type
    strides: tuple[Extent, ...]
    base: tuple[Extent, ...] = ()
    is_scalar: bool = False
    dim_order: tuple[int, ...] | None = None
    coordinates: tuple[int | None, ...] | None = None
    quotients: tuple[tuple[int, int, Extent], ...] = ()
    group: int = 1
    step: int = 1


@dataclass(frozen=True)
class Stage:
    """A scalar body: block argument i is operand `arguments[i]` of the nest (or, where the entry
    is negative, result `-1 - entry` of the stage before); yielded value i goes to operand
    `results[i]`."""

    block: ir.Block
    arguments: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class LoopNest:
    """A perfect loop nest with one scalar body over strided operands.

    symbols: the sizes known at run time, as a memref and its dimension, or an index and None.
    """

    extents: tuple[Extent, ...]
    reduction: tuple[bool, ...]
    operands: tuple[Operand, ...]
    body: Stage
    symbols: list[tuple[ir.Value, int | None]] = field(default_factory=list)
    # Where each dimension of the op went, for linalg.index: a dimension here, or None for size 1.
    index_dims: tuple[int | None, ...] = ()
    # What linalg.index of each dimension begins with, where the nest is a part of the op.
    index_bases: tuple[tuple[Extent, ...], ...] = ()

    @property
    def rank(self) -> int:
        return len(self.extents)

    def inputs(self) -> list[int]:
        """Operands that are only read by the body."""
        return [i for i in self.body.arguments if i >= 0 and i not in self.body.results]

    def stride(self, operand: int, dim: int) -> Extent:
        return self.operands[operand].strides[dim]

    def simplify(self) -> LoopNest:
        """The same nest without unit dimensions and with adjacent dimensions merged."""
        nest = self.split_quotients()
        for dim in reversed(range(nest.rank)):
            if nest.extents[dim] == ONE:
                nest = nest._without(dim)
        merged = True
        while merged:
            merged = False
            for inner in reversed(range(nest.rank)):
                for outer in reversed(range(nest.rank)):
                    if outer != inner and nest._mergeable(outer, inner):
                        nest = nest._merge(outer, inner)
                        merged = True
                        break
                if merged:
                    break
        return nest

    def split_quotients(self) -> LoopNest:
        """The same nest with each dimension that operands divide split in two, the quotient ahead
        of the remainder; every operand is strided then."""
        nest = self
        while True:
            divided = {q[0]: q[1] for operand in nest.operands for q in operand.quotients}
            if not divided:
                return nest
            dim = max(divided)
            nest = nest._split(dim, divided[dim])

    def _split(self, dim: int, divisor: int) -> LoopNest:
        assert not self.index_dims

        def doubled(items: Sequence[_Item], outer: _Item, inner: _Item) -> tuple[_Item, ...]:
            return (*items[:dim], outer, inner, *items[dim + 1 :])

        def operand(old: Operand) -> Operand:
            inner = old.strides[dim]
            outer: Extent | None = inner * Extent(divisor)
            for _, _, step in (q for q in old.quotients if q[0] == dim):
                outer = None if outer is None else outer.plus(step)
            assert outer is not None
            return replace(
                old,
                strides=doubled(old.strides, outer, inner),
                dim_order=None,
                coordinates=None,
                quotients=tuple(q for q in old.quotients if q[0] != dim),
            )

        count = Extent(self.extents[dim].factor // divisor)
        kind = self.reduction[dim]
        return replace(
            self,
            extents=doubled(self.extents, count, Extent(divisor)),
            reduction=doubled(self.reduction, kind, kind),
            operands=tuple(operand(old) for old in self.operands),
        )

    def _without(self, dim: int) -> LoopNest:
        def cut(items: Sequence[_Item]) -> tuple[_Item, ...]:
            return tuple(item for i, item in enumerate(items) if i != dim)

        def moved(old: int | None) -> int | None:
            if old is None or old == dim:
                return None
            return old - 1 if old > dim else old

        operands = tuple(
            replace(o, strides=cut(o.strides), dim_order=None, coordinates=None)
            for o in self.operands
        )
        return replace(
            self,
            extents=cut(self.extents),
            reduction=cut(self.reduction),
            operands=operands,
            index_dims=tuple(moved(old) for old in self.index_dims),
        )

    def _mergeable(self, outer: int, inner: int) -> bool:
        if self.reduction[outer] != self.reduction[inner]:
            return False
        if outer in self.index_dims or inner in self.index_dims:
            return False
        extent = self.extents[inner]
        return all(o.strides[outer] == o.strides[inner] * extent for o in self.operands)

    def joined(self, outer: int, inner: int) -> LoopNest:
        """The nest with both dimensions as one, whose steps are those of `inner`: for operands that
        walk the two as one, and those that are not walked along it."""
        return self._merge(outer, inner)

    def _merge(self, outer: int, inner: int) -> LoopNest:
        extents = list(self.extents)
        extents[inner] = extents[outer] * extents[inner]
        return replace(self, extents=tuple(extents))._without(outer)

    # Emission

    def emit_extent(self, b: Builder, extent: Extent) -> Index:
        """The value of an extent at the current insertion point."""
        value: Index = extent.factor
        if extent.factor == 0:
            return 0
        for symbol in extent.symbols:
            source, dim = self.symbols[symbol]
            value = b.mul(value, source if dim is None else b.memref_dim(source, dim))
        return value

    def emit_accesses(self, b: Builder, needed: Collection[int] | None = None) -> list[Access]:
        """Views, strides and base offsets of the operands as values; of the `needed` ones only,
        if those are given."""
        views: dict[ir.Value, FlatView] = {}
        accesses: list[Access] = []
        for position, operand in enumerate(self.operands):
            if operand.is_scalar or (needed is not None and position not in needed):
                accesses.append(Access(None, (), 0, operand.value))
                continue
            if operand.value not in views:
                views[operand.value] = b.flat_view(operand.value)
            view = views[operand.value]
            if operand.group > 1:
                view = FlatView(view.value, operand.element_type, operand.group, operand.step)
            base: Index = 0
            for term in operand.base:
                base = b.add(base, self.emit_extent(b, term))
            strides = tuple(self.emit_extent(b, stride) for stride in operand.strides)
            accesses.append(Access(view, strides, base, operand.value))
        return accesses


@dataclass(frozen=True)
class Access:
    """An operand with its strides and offset as values; `view` is None for a scalar."""

    view: FlatView | None
    strides: tuple[Index, ...]
    base: Index
    value: ir.Value

    def advanced(self, b: Builder, dim: int, position: Index) -> Access:
        """The access moved to `position` along a dimension."""
        if self.view is None:
            return self
        return replace(self, base=b.add(self.base, b.mul(position, self.strides[dim])))


# Reading linalg ops


def parse(
    operation: ir.Operation,
    *,
    quotients: bool = False,
    sources: Mapping[int, ir.Value] | None = None,
) -> LoopNest | None:
    """The loop nest of a linalg op on memrefs; None if it is not a strided nest of scalar ops.

    With `quotients`, indices may divide a dimension (see `split_quotients`, and `simplify`, which
    splits).  `sources` has buffers that stand in for operands, read at the same indices.
    """
    if operation.name not in ("linalg.generic", "linalg.fill") or len(operation.results) > 0:
        return None
    block = operation.regions[0].blocks[0]
    if any(len(list(inner.operation.regions)) for inner in block.operations):
        return None
    values = list(operation.operands)
    maps, kinds = _iteration_space(operation, values)
    symbols: list[tuple[ir.Value, int | None]] = []
    extents = _extents(maps, values, len(kinds), symbols)
    if extents is None:
        return None
    operands: list[Operand] = []
    for position, map_ in enumerate(maps):
        value = values[position] if sources is None else sources.get(position, values[position])
        operand = _operand(map_, value, extents, symbols, quotients)
        if operand is None:
            return None
        operands.append(operand)
    if quotients and not _splits(operands, extents, block):
        return None
    outputs = operation.attributes["operandSegmentSizes"][1]
    count = len(values)
    body = Stage(block, tuple(range(count)), tuple(range(count - outputs, count)))
    return LoopNest(
        tuple(extents),
        tuple(kinds),
        tuple(operands),
        body,
        symbols,
        _index_dims(block, len(kinds)),
    )


def _splits(operands: list[Operand], extents: list[Extent], block: ir.Block) -> bool:
    """Whether the dimensions that operands divide, if any, can be split."""
    found = [(dim, by, 0) for operand in operands for dim, by, _ in operand.quotients]
    if not found:
        return True
    asks = any(op.operation.name == "linalg.index" for op in block.operations)
    return not asks and divisors(found, [extent.static for extent in extents]) is not None


def _iteration_space(
    operation: ir.Operation, values: list[ir.Value]
) -> tuple[list[ir.AffineMap], list[bool]]:
    """Indexing maps, and which dimensions are reductions."""
    if operation.name == "linalg.fill":
        rank = ir.MemRefType(values[1].type).rank
        return [ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)], [False] * rank
    maps = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    return maps, ["reduction" in str(kind) for kind in operation.attributes["iterator_types"]]


def _index_dims(block: ir.Block, rank: int) -> tuple[int | None, ...]:
    """Identity if the body asks for indices, otherwise nothing is tied to a dimension."""
    asks = any(op.operation.name == "linalg.index" for op in block.operations)
    return tuple(range(rank)) if asks else ()


def _extents(
    maps: list[ir.AffineMap],
    values: list[ir.Value],
    rank: int,
    symbols: list[tuple[ir.Value, int | None]],
) -> list[Extent] | None:
    """Size of every dimension, static where any operand knows it."""
    found: list[Extent | None] = [None] * rank
    for map_, value in zip(maps, values, strict=True):
        if not isinstance(value.type, ir.MemRefType):
            continue
        type_ = ir.MemRefType(value.type)
        for position, expr in enumerate(map_.results):
            if not isinstance(expr, ir.AffineDimExpr):
                continue
            known = found[expr.position]
            if not type_.is_dynamic_dim(position):
                found[expr.position] = Extent(type_.get_dim_size(position))
            elif known is None:
                symbols.append((value, position))
                found[expr.position] = Extent(1, (len(symbols) - 1,))
    if any(extent is None for extent in found):
        return None
    return [extent for extent in found if extent is not None]


def _operand(
    map_: ir.AffineMap,
    value: ir.Value,
    extents: list[Extent],
    symbols: list[tuple[ir.Value, int | None]],
    quotients: bool,
) -> Operand | None:
    rank = len(extents)
    if not isinstance(value.type, ir.MemRefType):
        return Operand(value, value.type, (ZERO,) * rank, is_scalar=True)
    part = _part(value)
    if part is not None:
        return _part_operand(map_, part, rank, symbols)
    type_ = ir.MemRefType(value.type)
    if not _is_row_major(type_) or not _is_addressable(type_.element_type):
        return None
    strides = [ZERO] * rank
    base: list[Extent] = []
    step = ONE
    divided: list[tuple[int, int, Extent]] = []
    for position in reversed(range(type_.rank)):
        expr = map_.results[position]
        linear = linear_form(expr, rank)
        if linear is None and quotients and step.static is not None:
            rest, terms = take_quotients(expr)
            linear = linear_form(rest, rank)
            divided += [(dim, by, step * Extent(factor)) for dim, by, factor in terms]
        if linear is None:
            return _flattened_operand(map_, value, rank)
        for dim, coefficient in enumerate(linear[:-1]):
            total = strides[dim].plus(step * Extent(coefficient))
            if total is None:
                return None
            strides[dim] = total
        if linear[-1]:
            base.append(step * Extent(linear[-1]))
        step = step * _dim_extent(type_, value, position, expr, extents, symbols)
    summed = _summed(divided)
    if any((strides[dim] * Extent(by)).plus(factor) is None for dim, by, factor in summed):
        return None  # split, it would not be strided
    return Operand(
        value,
        type_.element_type,
        tuple(strides),
        tuple(base),
        dim_order=_dim_order(map_),
        coordinates=_coordinates(map_, type_),
        quotients=summed,
    )


def _summed(terms: list[tuple[int, int, Extent]]) -> tuple[tuple[int, int, Extent], ...]:
    """Terms of the same quotient added up, without those that cancel."""
    total: dict[tuple[int, int], int] = {}
    for dim, by, step in terms:
        total[dim, by] = total.get((dim, by), 0) + step.factor
    return tuple((dim, by, Extent(factor)) for (dim, by), factor in total.items() if factor)


def _part(value: ir.Value) -> ir.Operation | None:
    """The `memref.subview` in steps of one, of a row-major buffer, that a value is."""
    op = defining_op(value)
    if op is None or op.name != "memref.subview":
        return None
    source = ir.MemRefType(op.operands[0].type)
    steps = list(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    plain = all(step == 1 for step in steps) and ir.MemRefType(value.type).rank == source.rank
    return op if plain and _is_row_major(source) else None


def _part_operand(
    map_: ir.AffineMap,
    part: ir.Operation,
    rank: int,
    symbols: list[tuple[ir.Value, int | None]],
) -> Operand | None:
    """An operand that is a subview: the whole buffer, begun further on."""
    source = part.operands[0]
    type_ = ir.MemRefType(source.type)
    if not _is_addressable(type_.element_type):
        return None
    given = list(part.operands)[1:]
    offsets: list[int | ir.Value] = [
        given.pop(0) if offset == ir.ShapedType.get_dynamic_size() else offset
        for offset in ir.DenseI64ArrayAttr(part.attributes["static_offsets"])
    ]

    def symbol(value: ir.Value, dim: int | None) -> Extent:
        if (value, dim) not in symbols:
            symbols.append((value, dim))
        return Extent(1, (symbols.index((value, dim)),))

    strides = [ZERO] * rank
    base: list[Extent] = []
    step = ONE
    for position in reversed(range(type_.rank)):
        linear = linear_form(map_.results[position], rank)
        if linear is None:
            return None
        for dim, coefficient in enumerate(linear[:-1]):
            total = strides[dim].plus(step * Extent(coefficient))
            if total is None:
                return None
            strides[dim] = total
        offset = offsets[position]
        known = linear[-1] + (offset if isinstance(offset, int) else 0)
        base += [step * Extent(known)] if known else []
        base += [] if isinstance(offset, int) else [step * symbol(offset, None)]
        size = type_.get_dim_size(position)
        step = step * (symbol(source, position) if type_.is_dynamic_dim(position) else Extent(size))
    return Operand(source, type_.element_type, tuple(strides), tuple(base))


def _flattened_operand(map_: ir.AffineMap, value: ir.Value, rank: int) -> Operand | None:
    """An operand of fixed shape whose quotients and remainders cancel in the flat offset, as those
    of a reshape do."""
    type_ = ir.MemRefType(value.type)
    if not type_.has_static_shape:
        return None
    offset: ir.AffineExpr = ir.AffineConstantExpr.get(0)
    for expr, size in zip(map_.results, type_.shape, strict=True):
        offset = offset * size + expr
    simplified = ir.AffineExpr.simplify_affine_expr(offset, rank, 0).maybe_downcast()
    linear = linear_form(simplified, rank)
    if linear is None:
        return None
    strides = tuple(Extent(coefficient) for coefficient in linear[:-1])
    return Operand(value, type_.element_type, strides, (Extent(linear[-1]),))


def _dim_order(map_: ir.AffineMap) -> tuple[int, ...] | None:
    results = list(map_.results)
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in results):
        return None
    return tuple(expr.position for expr in results)


def _coordinates(map_: ir.AffineMap, type_: ir.MemRefType) -> tuple[int | None, ...] | None:
    found: list[int | None] = []
    for expr, size in zip(map_.results, type_.shape, strict=True):
        if isinstance(expr, ir.AffineDimExpr):
            found.append(expr.position)
        elif isinstance(expr, ir.AffineConstantExpr) and size == 1:
            found.append(None)
        else:
            return None
    return tuple(found)


def _dim_extent(
    type_: ir.MemRefType,
    value: ir.Value,
    position: int,
    expr: ir.AffineExpr,
    extents: list[Extent],
    symbols: list[tuple[ir.Value, int | None]],
) -> Extent:
    """Size of a memref dimension, in the terms of the iteration space where it is one of its."""
    if not type_.is_dynamic_dim(position):
        return Extent(type_.get_dim_size(position))
    if isinstance(expr, ir.AffineDimExpr):
        return extents[expr.position]
    symbols.append((value, position))
    return Extent(1, (len(symbols) - 1,))


def _is_addressable(type_: ir.Type) -> bool:
    """Whether elements fill whole bytes; i1 has no memory form of its own yet."""
    return isinstance(type_, ir.FloatType) or (
        isinstance(type_, ir.IntegerType) and type_.width % 8 == 0
    )


def _is_row_major(type_: ir.MemRefType) -> bool:
    layout = type_.affine_map
    return layout == ir.AffineMap.get_identity(type_.rank)


def linear_form(expr: ir.AffineExpr, rank: int) -> list[int] | None:
    """Coefficients of the dimensions, then the constant; None if the expression is not linear."""
    if isinstance(expr, ir.AffineConstantExpr):
        return [0] * rank + [expr.value]
    if isinstance(expr, ir.AffineDimExpr):
        unit = [0] * (rank + 1)
        unit[expr.position] = 1
        return unit
    if isinstance(expr, ir.AffineAddExpr):
        lhs, rhs = linear_form(expr.lhs, rank), linear_form(expr.rhs, rank)
        if lhs is None or rhs is None:
            return None
        return [x + y for x, y in zip(lhs, rhs, strict=True)]
    if isinstance(expr, ir.AffineMulExpr):
        lhs, rhs = linear_form(expr.lhs, rank), linear_form(expr.rhs, rank)
        if lhs is None or rhs is None:
            return None
        for factor, other in ((lhs, rhs), (rhs, lhs)):
            if not any(factor[:-1]):
                return [factor[-1] * x for x in other]
    return None
