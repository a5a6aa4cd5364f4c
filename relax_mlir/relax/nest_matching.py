"""Is a loop nest the one that a pattern function describes, on other buffers?"""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.mlir import ir

__all__ = ["NestMatcher"]

_STATEMENTS = frozenset(
    "tir.for tir.block tir.init tir.read tir.write memref.store scf.if scf.while scf.yield".split()
)
_COMMUTATIVE = frozenset(
    "arith.addf arith.addi arith.mulf arith.muli arith.maximumf arith.minimumf".split()
)
_NAMES = ("sym_name", "annotations", "dtype", "iter_dtype")
"""Attributes that say how something is called, not what it computes."""


class NestMatcher:
    """Walks a pattern and a nest side by side; `buffers` are the pattern's parameters met so far,
    with what they stand for."""

    def __init__(self, pattern: ir.Operation) -> None:
        self.buffers: dict[ir.Value, ir.Value] = {}
        self._body = pattern.regions[0].blocks[0]
        self._values: dict[ir.Value, ir.Value] = {}

    def match(self, nest: ir.Operation) -> list[ir.Value] | None:
        """The buffer of each of the pattern's parameters; None when the nest is another one."""
        described = list(_statements(self._body))
        if len(described) != 1 or not self._same_statement(described[0], nest):
            return None
        parameters = [a for a in self._body.arguments if isinstance(a.type, ir.MemRefType)]
        if any(parameter not in self.buffers for parameter in parameters):
            return None
        return [self.buffers[parameter] for parameter in parameters]

    def _same_statement(self, one: ir.Operation, other: ir.Operation) -> bool:
        if not self._same_kind(one, other):
            return False
        if not all(map(self._same_value, one.operands, other.operands)):
            return False
        return all(map(self._same_region, one.regions, other.regions))

    def _same_region(self, one: ir.Region, other: ir.Region) -> bool:
        blocks, others = list(one.blocks), list(other.blocks)
        return len(blocks) == len(others) and all(map(self._same_block, blocks, others))

    def _same_block(self, one: ir.Block, other: ir.Block) -> bool:
        arguments, others = list(one.arguments), list(other.arguments)
        if [a.type for a in arguments] != [a.type for a in others]:
            return False
        self._values.update(zip(arguments, others, strict=True))
        statements, found = list(_statements(one)), list(_statements(other))
        return len(statements) == len(found) and all(map(self._same_statement, statements, found))

    def _same_value(self, one: ir.Value, other: ir.Value) -> bool:
        if one.type != other.type:
            return False
        if one in self._values:
            return self._values[one] == other
        if isinstance(one, ir.BlockArgument):
            return self._same_buffer(one, other)
        if isinstance(other, ir.BlockArgument):
            return False
        op, found = one.owner.operation, other.owner.operation
        if not self._same_kind(op, found) or len(op.regions):
            return False
        operands, others = list(op.operands), list(found.operands)
        if all(map(self._same_value, operands, others)):
            return True
        swapped = op.name in _COMMUTATIVE and others[::-1]
        return bool(swapped) and all(map(self._same_value, operands, swapped))

    def _same_buffer(self, parameter: ir.Value, buffer: ir.Value) -> bool:
        if not isinstance(buffer.type, ir.MemRefType):
            return False
        known = self.buffers.get(parameter)
        if known is None and buffer not in self.buffers.values():
            self.buffers[parameter] = buffer
            return True
        return known == buffer if known is not None else False

    def _same_kind(self, one: ir.Operation, other: ir.Operation) -> bool:
        same_size = len(one.operands) == len(other.operands)
        return one.name == other.name and same_size and _attributes(one) == _attributes(other)


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes if name not in _NAMES}


def _statements(block: ir.Block) -> Iterator[ir.Operation]:
    for view in block.operations:
        if view.operation.name in _STATEMENTS:
            yield view.operation
