"""The values of a vectorised body: which are the same in all lanes, which linear, which vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir_to_scf.lanes import LaneForm, lane_form
from relax_mlir.mlir import arith, ir, vector
from relax_mlir.tir.math_ops import constant_like
from relax_mlir.tir.schedule.index import Atom, Index, Leaf, Monomial, as_index, leaf
from relax_mlir.tir.schedule.index_write import write

__all__ = ["CannotVectorize", "LaneValues"]


class CannotVectorize(Exception):
    """A vectorised loop has no vector form; it stays a scalar loop."""


class LaneValues:
    """Maps the values of a loop's body to what they are for all lanes.

    An index value is an expression over leaves; a leaf is a value outside of the loop, the lane's
    number, an inner loop's variable, or a value of the body that is no index arithmetic.
    """

    def __init__(self, loop: ForOp, lane: ir.Value, lanes: int) -> None:
        self.loop = loop
        self.lane = lane
        self.lanes = lanes
        self.mask: ir.Value | None = None
        self._scalars: dict[ir.Value, ir.Value] = {}
        self._vectors: dict[ir.Value, ir.Value] = {}
        self._indices: dict[ir.Value, Index] = {}
        self._private: dict[ir.Value, ir.Value] = {}

    # -- definitions --------------------------------------------------------------------------

    def define(self, value: ir.Value, index: Index) -> None:
        self._indices[value] = index

    def define_scalar(self, value: ir.Value, scalar: ir.Value) -> None:
        self._scalars[value] = scalar

    def define_vector(self, value: ir.Value, vector_: ir.Value) -> None:
        self._vectors[value] = vector_

    def define_private(self, buffer: ir.Value, wide: ir.Value) -> None:
        """A buffer of the body, and its copy with one element a lane."""
        self._private[buffer] = wide

    def buffer(self, buffer: ir.Value) -> tuple[ir.Value, bool]:
        """The buffer to access, and whether it has a last dimension of lanes."""
        if buffer in self._private:
            return self._private[buffer], True
        if not self.is_outside(buffer):
            raise CannotVectorize("a view made in the body")
        return buffer, False

    # -- kinds --------------------------------------------------------------------------------

    def is_outside(self, value: ir.Value) -> bool:
        """Whether a value is defined outside of the loop."""
        owner = value.owner
        op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
        return value != self.lane and not self._is_in(op)

    def _is_in(self, op: ir.Operation) -> bool:
        outer: ir.Operation | None = op
        while outer is not None:
            if outer == self.loop.operation:
                return True
            parent = outer.parent
            outer = None if parent is None else parent.operation
        return False

    def varies(self, leaf_: ir.Value) -> bool:
        """Whether a leaf differs between lanes."""
        return leaf_ in self._vectors or leaf_ == self.lane

    def index(self, value: int | ir.Value) -> Index:
        """The expression of an index value."""
        return as_index(value).substitute(self._indices)

    def form(self, expr: Index) -> LaneForm | None:
        return lane_form(expr, self.lane, self.lanes, self.varies)

    def is_uniform(self, value: ir.Value) -> bool:
        if value in self._scalars or self._is_plain_outside(value):
            return True
        if value in self._vectors or not isinstance(value.type, ir.IndexType):
            return False
        form = self.form(self.index(value))
        return form is not None and form.stride == 0

    def _is_plain_outside(self, value: ir.Value) -> bool:
        return value not in self._indices and self.is_outside(value)

    # -- scalars ------------------------------------------------------------------------------

    def scalar(self, value: ir.Value) -> ir.Value:
        """The one value of all lanes."""
        if value in self._scalars:
            return self._scalars[value]
        if self._is_plain_outside(value):
            return value
        form = self.form(self.index(value))
        assert form is not None and not form.stride, "the value is the same in all lanes"
        return self.write(form.base)

    def uniform_value(self, value: ir.Value) -> ir.Value:
        if not self.is_uniform(value):
            raise CannotVectorize("a size differs between lanes")
        return self.scalar(value)

    def uniform_index(self, expr: Index) -> Index:
        expr = expr.substitute(self._indices)
        form = self.form(expr)
        if form is None or form.stride:
            raise CannotVectorize("the bounds of an inner loop differ between lanes")
        return form.base

    def write(self, expr: Index) -> ir.Value:
        """A uniform expression as a value at the insertion point."""
        known = {v: leaf(self._scalars[v]) for v in expr.leaves() if v in self._scalars}
        return write(expr.substitute(known), ir.InsertionPoint.current, ir.Location.current)

    def write_mixed(self, expr: Index) -> int | ir.Value:
        return expr.constant if expr.is_constant else self.write(expr)

    # -- vectors ------------------------------------------------------------------------------

    def vector_type(self, element: ir.Type) -> ir.VectorType:
        return ir.VectorType.get([self.lanes], element)

    def vector(self, value: ir.Value) -> ir.Value:
        """The value in all lanes."""
        if value in self._vectors:
            return self._vectors[value]
        if self.is_uniform(value):
            return self.broadcast(self.scalar(value))
        return self.vector_of(self.index(value))

    def broadcast(self, value: ir.Value) -> ir.Value:
        return vector.broadcast(self.vector_type(value.type), value)

    def vector_of(self, expr: Index) -> ir.Value:
        """An index expression in all lanes."""
        form = self.form(expr)
        if form is not None:
            base = self.broadcast(self.write(form.base))
            return base if form.stride == 0 else arith.addi(base, self._steps(form.stride))
        total: ir.Value | None = None
        uniform = Index({}, expr.constant)
        for monomial, k in expr.terms.items():
            term = Index({monomial: k})
            found = self.form(term)
            if found is not None and found.stride == 0:
                uniform = uniform + found.base
                continue
            product = self._atoms(monomial)
            if k != 1:
                product = arith.muli(product, constant_like(product, k))
            total = product if total is None else arith.addi(total, product)
        assert total is not None, "what is the same in all lanes has a form"
        if uniform == Index():
            return total
        return arith.addi(total, self.broadcast(self.write(uniform)))

    def _steps(self, stride: int) -> ir.Value:
        steps = vector.step(self.vector_type(ir.IndexType.get()))
        return steps if stride == 1 else arith.muli(steps, constant_like(steps, stride))

    def _atoms(self, monomial: Monomial) -> ir.Value:
        product: ir.Value | None = None
        for atom in monomial:
            factor = self._atom(atom)
            product = factor if product is None else arith.muli(product, factor)
        assert product is not None
        return product

    def _atom(self, atom: Atom) -> ir.Value:
        if isinstance(atom, Leaf):
            if atom.value in self._vectors:
                return self._vectors[atom.value]
            return self.vector_of(leaf(atom.value))
        left, right = self.vector_of(atom.left), self.vector_of(atom.right)
        if atom.function == "mod":
            return arith.subi(left, arith.muli(arith.floordivsi(left, right), right))
        made = {"floordiv": arith.floordivsi, "min": arith.minsi, "max": arith.maxsi}
        return made[atom.function](left, right)

    def is_zero(self, expr: Index) -> ir.Value:
        """Whether an expression is zero: a scalar where it is the same in all lanes."""
        form = self.form(expr)
        value = self.vector_of(expr) if form is None or form.stride else self.write(form.base)
        return arith.cmpi(arith.CmpIPredicate.eq, value, constant_like(value, 0))

    # -- arithmetic ---------------------------------------------------------------------------

    def compute(self, op: ir.Operation) -> None:
        """An operation without effects: an expression, a scalar, or the operation on vectors."""
        result = op.results[0]
        if isinstance(result.type, ir.IndexType) and as_index(result) != leaf(result):
            return  # index arithmetic is written where it is used
        if len(op.results) != 1 or any(isinstance(v.type, ir.VectorType) for v in op.operands):
            raise CannotVectorize(f"no vector form of {op.name}")
        if isinstance(result.type, ir.VectorType):
            raise CannotVectorize("a vector in the body")
        if any(operand in self._private for operand in op.operands):
            raise CannotVectorize("a buffer of the body is not only loaded and stored")
        if all(self.is_uniform(operand) for operand in op.operands):
            operands = [self.scalar(operand) for operand in op.operands]
            copy = op.clone(ip=ir.InsertionPoint.current).operation
            for position, operand in enumerate(operands):
                copy.operands[position] = operand
            self._scalars[result] = copy.results[0]
            return
        made = ir.Operation.create(
            op.name,
            results=[self.vector_type(result.type)],
            operands=[self.vector(operand) for operand in op.operands],
            attributes={name: op.attributes[name] for name in op.attributes},
        )
        self._vectors[result] = made.results[0]

    # -- masks --------------------------------------------------------------------------------

    @contextmanager
    def masked(self, mask: ir.Value) -> Iterator[None]:
        """Only the lanes of `mask`, of those that are active, take effect inside."""
        outer = self.mask
        self.mask = mask if outer is None else arith.andi(outer, mask)
        yield
        self.mask = outer

    def negated(self, mask: ir.Value) -> ir.Value:
        return arith.xori(mask, constant_like(mask, 1))
