"""Emitting one piece of an iteration space as loops around a `linalg.generic` on subviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.lowering.tir_to_linalg.conditions import (
    Bound,
    Clamped,
    Piece,
    Unsupported,
    decide,
)
from relax_mlir.lowering.tir_to_linalg.linear import Linear, is_inside, linear, variables_in
from relax_mlir.lowering.tir_to_linalg.nest import Nest
from relax_mlir.lowering.tir_to_linalg.subview import Size, subview
from relax_mlir.lowering.tir_to_scf.structure import index_value
from relax_mlir.mlir import arith, ir, linalg, memref, scf

__all__ = ["PieceEmitter"]


@dataclass(frozen=True)
class _Access:
    """An element of a buffer, its indices as linear functions."""

    op: ir.Operation
    buffer: ir.Value
    indices: tuple[Linear, ...]


class PieceEmitter:
    """Plans a piece when made (raises Unsupported), emits it at the insertion point later."""

    def __init__(self, nest: Nest, store: ir.Operation, piece: Piece, shared: list[int]):
        self.nest = nest
        self.piece = piece
        self.iter_vars = nest.block.iter_vars
        self.value = self.resolve(store.operands[0])
        self.store = self._access(store, store.operands[1], list(store.operands)[2:])
        self.loads: list[_Access] = []
        self._collect_loads(self.value)
        accesses = [self.store, *self.loads]
        self.outer = sorted(
            {
                variable
                for access in accesses
                for index in access.indices
                for value, _ in index.rest
                for variable in variables_in(value, self.iter_vars, nest.outermost)
            }
        )
        self.inner = [
            v for v in range(len(self.iter_vars)) if v not in self.outer and v not in shared
        ]
        self._check(accesses)
        self.positions: dict[int, ir.Value] = {}

    # Planning

    def resolve(self, value: ir.Value) -> ir.Value:
        """What a conditional value is in this piece."""
        while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "scf.if":
            op = value.owner.operation
            taken = decide(op.operands[0], self.nest, self.piece)
            branch = op.regions[0 if taken else 1].blocks[0]
            value = list(branch.operations)[-1].operation.operands[0]
        return value

    def _access(self, op: ir.Operation, buffer: ir.Value, indices: list[ir.Value]) -> _Access:
        return _Access(op, buffer, tuple(linear(index, self.iter_vars) for index in indices))

    def _collect_loads(self, value: ir.Value) -> None:
        """The elements whose values, not whose positions, go into the result."""
        value = self.resolve(value)
        if not is_inside(value, self.nest.outermost):
            return
        op = value.owner.operation
        if op.name == "memref.load":
            if not any(op == known.op for known in self.loads):
                self.loads.append(self._access(op, op.operands[0], list(op.operands)[1:]))
            return
        for operand in op.operands:
            self._collect_loads(operand)

    def _check(self, accesses: list[_Access]) -> None:
        """Every dimension of a buffer is walked by one inner variable at most, the store's by each
        once and in steps of one."""
        stored: list[int] = []
        for access in accesses:
            for index in access.indices:
                inner = [v for v in index.coefficients if v in self.inner]
                if len(inner) > 1:
                    raise Unsupported
                if inner and index.coefficients[inner[0]] != 1:
                    plain = len(index.coefficients) == 1 and not index.rest
                    if access is self.store or not plain or index.coefficients[inner[0]] < 0:
                        raise Unsupported
                if access is self.store:
                    stored += inner
        if not self.inner or sorted(stored) != self.inner:
            raise Unsupported
        if self.outer and not any(v in self.inner for v in self.store.indices[-1].coefficients):
            raise Unsupported  # the loops inside would stride
        types = [ir.MemRefType(access.buffer.type) for access in accesses]
        if any(type_.affine_map != ir.AffineMap.get_identity(type_.rank) for type_ in types):
            raise Unsupported
        if any(0 in type_.shape for type_ in types):
            raise Unsupported  # memref.subview refuses to begin where no element is

    # Emission

    def emit_bounds(self) -> None:
        """Compute where the piece begins and ends."""
        bounds = [tuple(self._bound(bound) for bound in range_) for range_ in self.piece.ranges]
        self.lows = [low for low, _ in bounds]
        self.sizes = [_difference(high, low) for low, high in bounds]

    def emit(self, positions: dict[int, ir.Value]) -> None:
        """Emit the piece where the variables of `positions` have these values."""
        self.positions = dict(positions)
        self._emit_loops([v for v in self.outer if v not in positions])

    @contextmanager
    def loop(self, variable: int) -> Iterator[ir.Value]:
        """A loop over the piece's range of a variable."""
        low, high = self.lows[variable], _sum(self.lows[variable], self.sizes[variable])
        loop = scf.ForOp(index_value(low), index_value(high), index_value(1))
        with ir.InsertionPoint(loop.body):
            yield loop.induction_variable
            scf.YieldOp([])

    def _emit_loops(self, outer: list[int]) -> None:
        if not outer:
            self._emit_generic()
            return
        with self.loop(outer[0]) as position:
            self.positions[outer[0]] = position
            self._emit_loops(outer[1:])

    def _bound(self, bound: Bound) -> Size:
        if isinstance(bound, int):
            return bound
        if isinstance(bound, Clamped):
            position, low, high = map(self._bound, (bound.position, bound.low, bound.high))
            inside = arith.minsi(index_value(position), index_value(high))
            return arith.maxsi(inside, index_value(low))
        return self._offset(bound)

    def _offset(self, index: Linear) -> Size:
        """The part of an index that does not depend on inner variables; those count from their
        first position."""
        total: Size = index.constant
        for variable, coefficient in index.coefficients.items():
            is_outer = variable in self.positions
            position = self.positions[variable] if is_outer else self.lows[variable]
            total = _sum(total, _scaled(position, coefficient))
        for value, factor in index.rest:
            total = _sum(total, _scaled(self._clone(value), factor))
        return total

    def _clone(self, value: ir.Value) -> ir.Value:
        """A value of the nest computed again at the insertion point."""
        return _Cloner(self, lambda op: None).value(value)

    def _emit_generic(self) -> None:
        operands = [self._operand(access) for access in (*self.loads, self.store)]
        kinds = [ir.Attribute.parse("#linalg.iterator_type<parallel>")] * len(self.inner)
        maps = [ir.AffineMapAttr.get(map_) for _, map_ in operands]
        generic = linalg.GenericOp(
            [],
            [view for view, _ in operands[:-1]],
            [operands[-1][0]],
            ir.ArrayAttr.get(maps),
            ir.ArrayAttr.get(kinds),
        )
        elements = [ir.MemRefType(view.type).element_type for view, _ in operands]
        body = generic.regions[0].blocks.append(*elements)
        with ir.InsertionPoint(body):

            def loaded(op: ir.Operation) -> ir.Value | None:
                found = [i for i, load in enumerate(self.loads) if load.op == op]
                return body.arguments[found[0]] if found else None

            linalg.YieldOp([_Cloner(self, loaded, inside_generic=True).value(self.value)])

    def _operand(self, access: _Access) -> tuple[ir.Value, ir.AffineMap]:
        """The part of a buffer that the piece touches, and its map of the inner variables."""
        type_ = ir.MemRefType(access.buffer.type)
        offsets: list[Size] = []
        sizes: list[Size] = []
        results: list[ir.AffineExpr] = []
        for axis, index in enumerate(access.indices):
            inner = [v for v in index.coefficients if v in self.inner]
            if not inner:
                offsets.append(self._offset(index))
                sizes.append(1)
                results.append(ir.AffineExpr.get_constant(0))
                continue
            dim = ir.AffineExpr.get_dim(self.inner.index(inner[0]))
            coefficient, offset = index.coefficients[inner[0]], self._offset(index)
            offsets.append(offset)
            sizes.append(
                self.sizes[inner[0]]
                if coefficient == 1
                else _difference(_buffer_size(access.buffer, type_, axis), offset)
            )
            results.append(dim * coefficient)
        map_ = ir.AffineMap.get(len(self.inner), 0, results)
        return subview(access.buffer, offsets, sizes), map_


class _Cloner:
    """Computes values of the nest again where the insertion point is; `loaded` may stand in for
    loads."""

    def __init__(
        self,
        emitter: PieceEmitter,
        loaded: Callable[[ir.Operation], ir.Value | None],
        inside_generic: bool = False,
    ):
        self.emitter = emitter
        self.loaded = loaded
        self.inside_generic = inside_generic
        self.known: dict[ir.Value, ir.Value] = {}

    def value(self, value: ir.Value) -> ir.Value:
        value = self.emitter.resolve(value)
        if value not in self.known:
            self.known[value] = self._compute(value)
        return self.known[value]

    def _compute(self, value: ir.Value) -> ir.Value:
        emitter = self.emitter
        for position, variable in enumerate(emitter.iter_vars):
            if value == variable:
                return self._variable(position)
        if not is_inside(value, emitter.nest.outermost):
            return value
        op = value.owner.operation
        given = self.loaded(op)
        if given is not None:
            return given
        operands = [self.value(operand) for operand in op.operands]
        clone = op.clone()
        for position, operand in enumerate(operands):
            clone.operands[position] = operand
        return clone.results[0]

    def _variable(self, position: int) -> ir.Value:
        if position in self.emitter.positions:
            return self.emitter.positions[position]
        assert self.inside_generic, "positions of gathers do not depend on inner variables"
        index = linalg.IndexOp(self.emitter.inner.index(position)).result
        return index_value(_sum(self.emitter.lows[position], index))


def _sum(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    for one, other in ((left, right), (right, left)):
        if isinstance(one, int) and one == 0:
            return other
    return arith.addi(index_value(left), index_value(right))


def _difference(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if isinstance(right, int) and right == 0:
        return left
    return arith.subi(index_value(left), index_value(right))


def _scaled(size: Size, factor: int) -> Size:
    if isinstance(size, int):
        return size * factor
    return size if factor == 1 else arith.muli(size, index_value(factor))


def _buffer_size(buffer: ir.Value, type_: ir.MemRefType, axis: int) -> Size:
    if type_.is_dynamic_dim(axis):
        return memref.dim(buffer, index_value(axis))
    return type_.get_dim_size(axis)
