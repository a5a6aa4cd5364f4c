"""Copying what blocks compute to other places, with other index values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from relax_mlir.dialects.tir.blocks import BlockOp, InitOp, ReadOp, WriteOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.facts import remembered
from relax_mlir.tir.schedule.index import Index, as_index, leaf, read
from relax_mlir.tir.schedule.index_write import write


@dataclass
class Copier:
    """Clones operations at a place.  `indices` are index values as expressions there, `values`
    other values; both grow with what is cloned."""

    at: ir.InsertionPoint
    indices: dict[ir.Value, Index] = field(default_factory=dict)
    values: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def clone_all(self, ops: Iterable[ir.OpView]) -> None:
        for op in ops:
            self.clone(op)

    def clone(self, op: ir.OpView) -> ir.OpView | None:
        """Clone one operation; index arithmetic is composed instead, and gives None."""
        operation = op.operation
        if operation.name == "affine.apply":
            result = operation.results[0]
            self.indices[result] = read(result).substitute(self.indices)
            return None
        new = operation.clone(ip=self.at)
        self._remap(new)
        for nested in list(nest.descend(new.opview)):
            if nested.operation.name == "affine.apply":
                self._compose(nested.operation)
            else:
                self._remap(nested.operation)
        for old, result in zip(operation.results, new.results, strict=True):
            if isinstance(result.type, ir.IndexType):
                self.indices[old] = read(result)
            self.values[old] = result
        return new.opview

    def value(self, old: ir.Value, before: ir.InsertionPoint | None = None) -> ir.Value:
        """What a value of the source is at the new place."""
        if old in self.indices and isinstance(old.type, ir.IndexType):
            return write(self.indices[old], before or self.at)
        return self.values.get(old, old)

    def index(self, old: ir.Value) -> Index:
        """What an index value of the source is at the new place."""
        return as_index(old).substitute(self.indices)

    def _remap(self, op: ir.Operation) -> None:
        before = ir.InsertionPoint(op)
        for number, operand in enumerate(list(op.operands)):
            new = self._operand(operand, before)
            if new is not None:
                op.operands[number] = new

    def _operand(self, operand: ir.Value, before: ir.InsertionPoint) -> ir.Value | None:
        if isinstance(operand.type, ir.IndexType):
            expr = read(operand)
            new = expr.substitute(self.indices)
            return write(new, before) if operand in self.indices or new != expr else None
        return self.values.get(operand)

    def _compose(self, apply: ir.Operation) -> None:
        result = apply.results[0]
        expr = read(result).substitute(self.indices)
        result.replace_all_uses_with(write(expr, ir.InsertionPoint(apply), apply.location))
        apply.erase()


def body_statements(block: BlockOp) -> list[ir.OpView]:
    """The body without the declared regions and the init."""
    return [
        op for op in nest.operations(block.block) if not isinstance(op, (ReadOp, WriteOp, InitOp))
    ]


def stores_in(block: BlockOp) -> list[ir.Operation]:
    """The stores of the body, without those of the init."""
    return [
        o.operation
        for statement in body_statements(block)
        for o in (statement, *nest.descend(statement))
        if o.operation.name == "memref.store"
    ]


def loads_of(buffer: ir.Value, inside: ir.OpView) -> list[ir.Operation]:
    """The `memref.load`s of a buffer below an operation, in order."""
    return [
        o.operation
        for o in nest.descend(inside)
        if o.operation.name == "memref.load" and o.operation.operands[0] == buffer
    ]


@remembered
def iter_values(block: BlockOp) -> Mapping[ir.Value, Index]:
    """The iteration variables as the values that the loops give them."""
    return {v: as_index(b) for v, b in zip(nest.iter_vars(block), block.bindings, strict=True)}


def leaves_as_index(values: Iterable[ir.Value]) -> list[Index]:
    return [leaf(v) for v in values]
