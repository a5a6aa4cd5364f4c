"""What the chains of operations of all Winograd convolutions have in common: transforms by constant
matrices around products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.builder import is_zero_constant
from relax_mlir.lowering.linalg_to_vector.convolution.constant_matrix import constant_matrix
from relax_mlir.mlir import dynamic, ir

__all__ = [
    "ChainMatcher",
    "Mismatch",
    "PartOfTile",
    "WinogradAxis",
    "dims_of",
    "is_product",
    "known_sizes",
    "map_of",
    "maps_of",
    "require",
    "static_sizes",
    "step_of",
]

_PRODUCT = ["arith.addf", "arith.mulf", "linalg.yield"]


@dataclass(frozen=True)
class PartOfTile:
    """The matrices of a tile of fewer output positions than the others have, which needs only the
    first of the products, as many as `a` has columns."""

    a: np.ndarray
    b: np.ndarray

    @property
    def products(self) -> int:
        return self.a.shape[1]


@dataclass(frozen=True)
class WinogradAxis:
    """One axis: `size` elements of data after `low` zeros, tiles `step` apart.

    a: outputs of a tile x products; b: products x elements that a tile reads.
    last: the matrices of the last tile, if they are others.  Tiles, size and length are
    `dynamic()` where only run time knows them.
    """

    a: np.ndarray
    b: np.ndarray
    step: int
    tiles: int
    size: int
    low: int
    length: int
    last: PartOfTile | None = None

    @property
    def output(self) -> int:
        """Output positions of a tile."""
        return self.a.shape[0]

    @property
    def products(self) -> int:
        return self.b.shape[0]

    @property
    def is_of_any_size(self) -> bool:
        return dynamic() in (self.tiles, self.size, self.length)

    @property
    def whole(self) -> int:
        """The tiles that have all positions and products."""
        return self.tiles if self.last is None else self.tiles - 1

    @property
    def used_by_all(self) -> int:
        """The products, the first ones, that all tiles need; the others the last does without."""
        return self.products if self.last is None else self.last.products


class Mismatch(Exception):
    """An operation is not what a chain has in its place."""


def require(condition: bool) -> None:
    """Raises Mismatch if the condition does not hold."""
    if not condition:
        raise Mismatch


class ChainMatcher:
    """Walks a chain from its first operation on; what it has passed are its members."""

    def __init__(self, first: ir.Operation, uses: BufferUses):
        self.first = first
        self.uses = uses
        self.members: list[ir.Operation] = []
        self.matrices: list[ir.Operation] = []
        self.weight_members: list[ir.Operation] = []

    # Links

    @property
    def order(self) -> list[ir.Operation]:
        return [op for op in self.members if op.name == "linalg.generic"]

    def next(self, op: ir.Operation) -> ir.Operation:
        """The only reader of what an operation writes, a temporary of its own."""
        self.members.append(op)
        buffer = op.operands[2]
        require(self.uses.is_temporary(buffer))
        users = self.uses.remaining_users(buffer, op)
        readers = [user for user in users if user.name != "linalg.fill"]
        require(len(readers) == 1 and len(users) == 2)
        reader = readers[0]
        require(reader.name == "linalg.generic" and reader.block == op.block)
        require(op.is_before_in_block(reader) and buffer not in outputs_of(reader))
        return reader

    def fill(self, op: ir.Operation) -> ir.Operation:
        """The fill with zero of what an operation writes."""
        fills = [
            user
            for user in self.uses.remaining_users(op.operands[2], op)
            if user.name == "linalg.fill" and user.is_before_in_block(op)
        ]
        require(len(fills) == 1 and is_zero_constant(fills[0].operands[0]))
        require(fills[0].block == op.block)
        return fills[0]

    def matrix(self, op: ir.Operation) -> np.ndarray:
        found = constant_matrix(op.operands[0], self.uses, op)
        if found is None:
            raise Mismatch
        values, maker = found
        if not any(maker == known for known in self.matrices):
            self.matrices.append(maker)
        return values

    def nothing_between(self, read: list[ir.Value], last: ir.Operation) -> None:
        """Nothing else writes what is read, from where it is read first to the chain's end."""
        mine = [*self.members, *self.matrices, *self.weight_members, self.fill(last), last]
        readers = [self._first_reader(value, mine) for value in read]
        start = self.matrices[0]
        for op in (*self.matrices, *self.weight_members, *self.members):
            start = op if op.is_before_in_block(start) else start
        for view in start.block.operations:
            op = view.operation
            if not start.is_before_in_block(op) or not op.is_before_in_block(last):
                continue
            if any(op == own for own in mine):
                continue
            # A matrix is read by this chain alone, since it goes with it.
            require(
                not any(
                    m.operands[0] in self.uses.buffers_of(op)
                    for m in self.matrices
                    if m.name == "linalg.generic"
                )
            )
            written = self.uses.written_by(op)
            for value, reader in zip(read, readers, strict=True):
                made_before = reader is not None and op.is_before_in_block(reader)
                overlaps = any(self.uses.may_overlap(w, value) for w in written)
                require(made_before or not overlaps)

    def _first_reader(self, value: ir.Value, ops: list[ir.Operation]) -> ir.Operation | None:
        """Of the chain's operations the first that names a value; None for data that are padded."""
        first: ir.Operation | None = None
        for op in ops:
            if value in list(op.operands) and (first is None or op.is_before_in_block(first)):
                first = op
        return first


def is_product(op: ir.Operation, rank: int, reductions: int = 1) -> bool:
    """Whether an operation adds products of two inputs over its last dimensions."""
    if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return False
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    if kinds != [False] * (rank - reductions) + [True] * reductions:
        return False
    if not all(isinstance(value.type, ir.MemRefType) for value in op.operands):
        return False
    block = op.regions[0].blocks[0]
    body = [view.operation for view in block.operations]
    if sorted(inner.name for inner in body) != _PRODUCT:
        return False
    if not all(isinstance(argument.type, ir.F32Type) for argument in block.arguments):
        return False
    multiply, add, end = body
    factors, terms = set(multiply.operands), set(add.operands)
    return (
        multiply.name == "arith.mulf"
        and factors == set(list(block.arguments)[:2])
        and terms == {block.arguments[2], multiply.result}
        and end.operands[0] == add.result
    )


def maps_of(op: ir.Operation) -> list[ir.AffineMap]:
    return [attribute.value for attribute in op.attributes["indexing_maps"]]


def dims_of(count: int) -> list[ir.AffineExpr]:
    return [ir.AffineDimExpr.get(i) for i in range(count)]


def map_of(count: int, results: list[ir.AffineExpr]) -> ir.AffineMap:
    return ir.AffineMap.get(count, 0, results)


def step_of(line: ir.AffineExpr, tile: ir.AffineExpr) -> int:
    """The factor of `tile` in `tile * step + tap`."""
    require(isinstance(line, ir.AffineAddExpr))
    for side in (line.lhs, line.rhs):
        if side == tile:
            return 1
        if isinstance(side, ir.AffineMulExpr) and side.lhs == tile:
            require(isinstance(side.rhs, ir.AffineConstantExpr))
            return side.rhs.value
    raise Mismatch


def known_sizes(buffer: ir.Value, first: int, count: int | None = None) -> list[int]:
    """The sizes of a buffer from a dimension on, or of `count`, `dynamic()` for those that only run
    time knows."""
    shape = list(ir.MemRefType(buffer.type).shape)
    return shape[first:] if count is None else shape[first : first + count]


def static_sizes(buffer: ir.Value, first: int, count: int | None = None) -> list[int]:
    """The sizes of a buffer from a dimension on, or of `count`, which have to be known."""
    sizes = known_sizes(buffer, first, count)
    require(dynamic() not in sizes)
    return sizes
