"""What a block reads and writes: one box a buffer, the hull of its accesses over inner loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relax_mlir.tir import expr as E
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.linear import Poly, difference, polynomial, simplify

Interval = tuple[E.PrimExpr, E.PrimExpr]
"""The smallest and the largest value, inclusive."""


class AccessCollector:
    """Gathers the accesses of one block while it is built.

    Variables of loops inside the block are relaxed to their domain; let variables are replaced by
    their values; nested blocks hand in their regions.  Follows TVM's rules: a buffer allocated in
    the block does not count, and with an init the written buffers are no reads.
    """

    def __init__(self) -> None:
        self.wanted = True  # False: the block declares its regions, finding them takes time
        self.domains: dict[E.Var, Interval] = {}
        self.lets: dict[E.Var, E.PrimExpr] = {}
        self._reads: dict[Buffer, list[Interval]] = {}
        self._writes: dict[Buffer, list[Interval]] = {}

    def loop(self, var: E.Var, begin: E.PrimExpr, extent: E.PrimExpr) -> None:
        """Enter a loop inside the block."""
        last = O.subtract(O.add(begin, extent), O.const(1, extent.dtype))
        self.domains[var] = (begin, last)

    def let(self, var: E.Var, value: E.PrimExpr) -> None:
        """Note that a variable stands for a value."""
        if not self.wanted:
            return
        self.lets[var] = E.substitute(value, self.lets)

    def read(self, expr: E.PrimExpr) -> None:
        """Note all loads in an expression."""
        if not self.wanted:
            return
        for load in loads_in(E.substitute(expr, self.lets)):
            self._add(self._reads, load.buffer, [_lane_interval(i) for i in load.indices])

    def write(self, buffer: Buffer, indices: Sequence[E.PrimExpr]) -> None:
        """Note a store (its indices may load too)."""
        if not self.wanted:
            return
        indices = [E.substitute(i, self.lets) for i in indices]
        self._add(self._writes, buffer, [_lane_interval(i) for i in indices])
        for index in indices:
            self.read(index)

    def nested(
        self,
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        bindings: Mapping[E.Var, E.PrimExpr],
    ) -> None:
        """Note the regions of a block inside this one, whose variables take `bindings`."""
        for target, regions in ((self._reads, reads), (self._writes, writes)):
            for region in regions:
                self._add(target, region.buffer, [_bound(r, bindings) for r in region.region])

    def finish(
        self, local: Sequence[Buffer], has_init: bool
    ) -> tuple[list[BufferRegion], list[BufferRegion]]:
        """The reads and the writes, in order of first access."""
        hidden = [*local, *(self._writes if has_init else [])]
        # What the block itself computes is not known where its regions are declared.
        unknown = {*local, *self._writes}
        reads = [_region(b, box, unknown) for b, box in self._reads.items() if b not in hidden]
        writes = [_region(b, box, unknown) for b, box in self._writes.items() if b not in local]
        return reads, writes

    def _add(
        self,
        target: dict[Buffer, list[Interval]],
        buffer: Buffer,
        box: Sequence[Interval],
    ) -> None:
        if not self.wanted:
            return
        relaxed = [
            self._relax(interval, size) for interval, size in zip(box, buffer.shape, strict=True)
        ]
        old = target.get(buffer)
        target[buffer] = relaxed if old is None else list(map(_hull, old, relaxed))

    def _relax(self, interval: Interval, size: E.PrimExpr) -> Interval:
        low, high = (bounds(side, self.domains) if _is_plain(side) else None for side in interval)
        if low is None or high is None:
            return _whole(size)
        return low[0], high[1]


def _bound(one: E.Range, bindings: Mapping[E.Var, E.PrimExpr]) -> Interval:
    last = O.subtract(O.add(one.min, one.extent), O.const(1, one.extent.dtype))
    return E.substitute(one.min, bindings), E.substitute(last, bindings)


def _lane_interval(index: E.PrimExpr) -> Interval:
    if isinstance(index, E.Ramp):
        last = O.multiply(index.stride, O.lane_count(index.lanes) - 1)
        return index.base, O.add(index.base, last)
    return index, index


def _whole(size: E.PrimExpr) -> Interval:
    return O.const(0, size.dtype), simplify(O.subtract(size, O.const(1, size.dtype)))


def _region(buffer: Buffer, box: Sequence[Interval], unknown: set[Buffer]) -> BufferRegion:
    ranges: list[E.Range] = []
    for interval, size in zip(box, buffer.shape, strict=True):
        loads = [load for end in interval for load in loads_in(end)]
        computed = any(load.buffer in unknown for load in loads)
        low, high = _whole(size) if computed else interval
        extent = simplify(O.add(O.subtract(high, low), O.const(1, low.dtype)))
        ranges.append(E.Range.from_min_extent(low, extent))
    return BufferRegion(buffer, ranges)


def _hull(a: Interval, b: Interval) -> Interval:
    return _extreme(a[0], b[0], lower=True), _extreme(a[1], b[1], lower=False)


def _extreme(a: E.PrimExpr, b: E.PrimExpr, lower: bool) -> E.PrimExpr:
    known = difference(a, b)
    if known is not None:
        return a if (known <= 0) == lower else b
    return O.min(a, b) if lower else O.max(a, b)


def loads_in(expr: E.PrimExpr) -> Iterator[E.BufferLoad]:
    """All loads, a load before those in its indices; let variables stand for their values."""
    if isinstance(expr, E.Let):
        yield from loads_in(expr.value)
        yield from loads_in(E.substitute(expr.body, {expr.var: expr.value}))
        return
    if isinstance(expr, E.BufferLoad):
        yield expr
    for child in E.children(expr):
        yield from loads_in(child)


def bounds(expr: E.PrimExpr, domains: Mapping[E.Var, Interval]) -> Interval | None:
    """The interval of an integer expression when variables run over domains; None if unknown."""
    if not _mentions(expr, domains):
        return expr, expr
    low = high = Poly.constant(0, expr.dtype)
    for factors, k in polynomial(expr).terms.values():
        relaxed = [f for f in factors if _mentions(f, domains)]
        if len(relaxed) > 1:
            return None
        scale = Poly.constant(k, expr.dtype)
        for factor in factors:
            if factor not in relaxed:
                scale = scale.times(polynomial(factor))
        ends = _atom_bounds(relaxed[0], domains) if relaxed else None
        if relaxed and (ends is None or (scale.as_int() is None and k < 0)):
            return None
        if ends is None:
            low, high = low.plus(scale), high.plus(scale)
            continue
        first, last = (polynomial(end).times(scale) for end in (ends if k > 0 else ends[::-1]))
        low, high = low.plus(first), high.plus(last)
    return low.to_expr(), high.to_expr()


def _is_plain(index: E.PrimExpr) -> bool:
    """Whether an index is arithmetic only; what is chosen by a condition may be anywhere."""
    return not any(isinstance(node, (E.Call, E.Select)) for node in E.post_order(index))


def _mentions(expr: E.PrimExpr, domains: Mapping[E.Var, Interval]) -> bool:
    return any(isinstance(node, E.Var) and node in domains for node in E.post_order(expr))


def _atom_bounds(atom: E.PrimExpr, domains: Mapping[E.Var, Interval]) -> Interval | None:
    if isinstance(atom, E.Var):
        low, high = domains[atom]
        inner_low, inner_high = bounds(low, domains), bounds(high, domains)
        return None if inner_low is None or inner_high is None else (inner_low[0], inner_high[1])
    if isinstance(atom, (E.Min, E.Max)):
        a, b = bounds(atom.a, domains), bounds(atom.b, domains)
        join = O.min if isinstance(atom, E.Min) else O.max
        return None if a is None or b is None else (join(a[0], b[0]), join(a[1], b[1]))
    if isinstance(atom, (E.FloorDiv, E.FloorMod)) and isinstance(atom.b, E.IntImm):
        inside = bounds(atom.a, domains)
        if inside is None:
            return None
        divisor = atom.b
        if isinstance(atom, E.FloorDiv):
            return O.floordiv(inside[0], divisor), O.floordiv(inside[1], divisor)
        # Within one period the remainder follows its argument.
        if difference(O.floordiv(inside[0], divisor), O.floordiv(inside[1], divisor)) == 0:
            return O.floormod(inside[0], divisor), O.floormod(inside[1], divisor)
        return O.const(0, atom.dtype), O.const(divisor.value - 1, atom.dtype)
    return None
