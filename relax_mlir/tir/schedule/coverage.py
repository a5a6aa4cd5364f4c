"""Whether a block stores every element of the region it declares to write.

A declared region is the hull of the stores: those under a condition, with a stride or at places
that are read from memory leave elements of it as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import bounded
from relax_mlir.tir.schedule.analysis import Access
from relax_mlir.tir.schedule.body import iter_values
from relax_mlir.tir.schedule.digits import Digit, dense, independent
from relax_mlir.tir.schedule.index import Index, as_index, proves_nonnegative
from relax_mlir.tir.schedule.inline import predicate_is_domain
from relax_mlir.tir.schedule.state import buffer_shape

_ELEMENTWISE = ("memref.load", "memref.store", "memref.dim", "tir.read", "tir.write")
_ALWAYS_RUN = ("tir.for", "tir.init")

Region = Sequence[tuple[Index, Index]]


def stores_all_of(block: BlockOp, access: Access) -> bool:
    """True when a block stores each element of a region it declares to write.

    What a call, a view or a vector writes is taken from the declaration.
    """
    buffer = access.buffer
    users = [op.operation for op in nest.descend(block) if buffer in list(op.operation.operands)]
    if any(op.name not in _ELEMENTWISE for op in users):
        return True
    if not any(op.name == "memref.store" for op in users):
        return True
    return _Coverage(block, buffer, access.region).by(block.block, {})


class _Coverage:
    """Which statements of a block store all of a region of a buffer."""

    def __init__(self, block: BlockOp, buffer: ir.Value, wanted: Region) -> None:
        self.block, self.buffer, self.wanted = block, buffer, wanted

    def by(self, body: ir.Block, values: Mapping[ir.Value, Index]) -> bool:
        """Whether the statements of a body do; `values` are the iteration variables of the blocks
        between."""
        statements = [view.operation for view in body.operations]
        stores = [self._indices(op, values) for op in statements if self._is_store(op)]
        regions = [[(index, Index({}, 1)) for index in indices] for indices in stores]
        together = _as_one_box(stores)
        candidates = regions if together is None else [together, *regions]
        return any(self._is_all(region) for region in candidates) or any(
            self._by_statement(op, values) for op in statements
        )

    def _by_statement(self, op: ir.Operation, values: Mapping[ir.Value, Index]) -> bool:
        view = op.opview
        if isinstance(view, BlockOp):
            if len(view.predicate) and not predicate_is_domain(view):
                return False
            own = {v: index.substitute(values) for v, index in iter_values(view).items()}
            return self.by(view.block, {**values, **own})
        bodies = [body for region in op.regions for body in region.blocks]
        if op.name == "scf.if":
            return len(bodies) == 2 and all(self.by(body, values) for body in bodies)
        return op.name in _ALWAYS_RUN and any(self.by(body, values) for body in bodies)

    def _is_store(self, op: ir.Operation) -> bool:
        return op.name == "memref.store" and op.operands[1] == self.buffer

    def _indices(self, op: ir.Operation, values: Mapping[ir.Value, Index]) -> list[Index]:
        return [as_index(v).substitute(values) for v in list(op.operands)[2:]]

    def _varies(self, value: ir.Value) -> bool:
        return value not in nest.iter_vars(self.block) and nest.encloses(self.block, value)

    def _is_all(self, region: Region) -> bool:
        """Whether a region takes every element wanted as the loops of the block run."""
        digits: list[Digit] = []
        shape = buffer_shape(self.buffer)
        for (offset, size), (start, count), extent in zip(region, self.wanted, shape, strict=True):
            found = dense(offset, size, self._varies)
            if found is None:
                return False
            digits += found
            low, high = bounded(offset, size, self._varies, extent)
            if not _reaches(low, start) or not _reaches(start + count - 1, high):
                return False
        return independent(digits)


def _reaches(low: Index, high: Index) -> bool:
    return low == high or proves_nonnegative(high - low)


def _as_one_box(stores: Sequence[Sequence[Index]]) -> Region | None:
    """The box that several stores of one element make side by side, None when they do not."""
    if len(stores) < 2:
        return None
    points: set[tuple[int, ...]] = set()
    for indices in stores:
        ends = [(i - base).as_constant() for i, base in zip(indices, stores[0], strict=True)]
        if any(end is None for end in ends):
            return None
        points.add(tuple(end for end in ends if end is not None))
    lows = [min(axis) for axis in zip(*points, strict=True)]
    sizes = [max(axis) - low + 1 for axis, low in zip(zip(*points, strict=True), lows, strict=True)]
    volume = 1
    for size in sizes:
        volume *= size
    if len(points) != volume:
        return None
    return [
        (base + low, Index({}, size))
        for base, low, size in zip(stores[0], lows, sizes, strict=True)
    ]
