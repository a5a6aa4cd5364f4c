"""Emitting a chain of operations (`row_chain.py`) for a block of rows at a time.

Every link is emitted like an operation of its own on the block's part of its operands, by whatever
strategy fits; the temporaries between the links are buffers of one block, which stay in the caches,
and are reused as soon as their last reader is done.  Right operands of the contractions are laid
out contiguously once for all blocks.  Where a select on `column <= row` makes everything to the
right of the diagonal negligible (a causal mask before a softmax), a block stops at its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.causal import is_causal
from relax_mlir.lowering.linalg_to_vector.contraction.matching import match_contraction
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import (
    ONE,
    ZERO,
    Extent,
    LoopNest,
    Operand,
    Stage,
)
from relax_mlir.lowering.linalg_to_vector.parallel import restricted
from relax_mlir.lowering.linalg_to_vector.row_chain import Link, RowChain
from relax_mlir.mlir import ir

__all__ = ["RowChainEmitter"]

# A block of scores of about this size stays in the second-level cache beside its operands.
_BLOCK_BYTES = 128 << 10
_MAX_ROWS = 64
_ASSUMED_COLUMNS = 512
_CONFLICTING, _PADDING = 64, 16

FindStrategy = Callable[
    [LoopNest, CPUTarget], Callable[[Builder, dict[int, ir.Value]], None] | None
]


@dataclass(frozen=True)
class _Packed:
    """An operand of a contraction laid out as [k][column]."""

    buffer: FlatView
    row_stride: Index


class RowChainEmitter:
    """Emits a chain at the insertion point; `can_emit` says whether every link has a strategy."""

    def __init__(self, b: Builder, chain: RowChain, target: CPUTarget, find_strategy: FindStrategy):
        self.b = b
        self.chain = chain
        self.target = replace(target, num_cores=1)
        self.num_cores = target.num_cores
        self.find_strategy = find_strategy
        self.first = chain.links[0]
        self.shared = [self.first.nest.extents[dim] for dim in self.first.shared if dim is not None]
        self.columns = self.first.nest.extents[self.first.column]
        self.packed: dict[int, _Packed] = {}
        self.slots: dict[ir.Value, FlatView] = {}
        self.causal = is_causal(chain)
        self.rows = self._block_rows()

    def _block_rows(self) -> int:
        columns = self.columns.static or _ASSUMED_COLUMNS
        rows = _BLOCK_BYTES // (4 * columns) // 8 * 8
        return max(8, min(_MAX_ROWS, rows))

    def can_emit(self) -> bool:
        """Whether all links have strategies; emits nothing."""
        for link in self.chain.links:
            nest = self._at_batch(link, [0] * (len(link.shared) - 1))
            nest = restricted(self.b, nest, link.row, 0, self.rows)
            if self.find_strategy(nest.simplify(), self.target) is None:
                return False
        return True

    # Loops

    def emit(self) -> None:
        extents = [self.first.nest.emit_extent(self.b, extent) for extent in self.shared]
        self.column_count = self.first.nest.emit_extent(self.b, self.columns)
        self.row_stride = _padded(self.b, self.column_count)
        split = self._split_dim(extents)
        if split is None:
            self._emit_batches(extents, [0] * len(extents), 0)
            return
        size = extents[split]
        assert isinstance(size, int)
        piece = -(-size // self.num_cores)
        with self.b.parallel_loop(-(-size // piece)) as number:
            start = self.b.mul(number, piece)
            extents[split] = self.b.minimum(self.b.sub(size, start), piece)
            starts: list[Index] = [0] * len(extents)
            starts[split] = start
            self._emit_batches(extents, starts, 0)

    def _split_dim(self, extents: list[Index]) -> int | None:
        """The batch dimension that is divided among the cores."""
        for position, size in enumerate(extents[:-1]):
            if self.num_cores > 1 and isinstance(size, int) and size >= self.num_cores:
                return position
        return None

    def _emit_batches(self, extents: list[Index], starts: list[Index], depth: int) -> None:
        self._allocate()
        self._emit_batch_loops(extents, starts, [])

    def _emit_batch_loops(
        self, extents: list[Index], starts: list[Index], position: list[Index]
    ) -> None:
        depth = len(position)
        if depth == len(extents) - 1:
            self._pack(position)
            self._emit_rows(extents[-1], position)
            return
        with self.b.loop(0, extents[depth]) as index:
            at = self.b.add(starts[depth], index)
            self._emit_batch_loops(extents, starts, [*position, at])

    def _emit_rows(self, total: Index, batch: list[Index]) -> None:
        b = self.b
        if not isinstance(total, int):
            with b.loop(0, total, self.rows) as row:
                self._emit_block(batch, row, b.minimum(b.sub(total, row), self.rows))
            return
        whole = total // self.rows * self.rows
        if whole:
            with b.loop(0, whole, self.rows) as row:
                self._emit_block(batch, row, self.rows)
        if whole < total:
            self._emit_block(batch, whole, total - whole)

    def _emit_block(self, batch: list[Index], row: Index, rows: Index) -> None:
        b = self.b
        limit: Index | None = None
        if self.causal:
            limit = b.minimum(b.add(row, rows), self.column_count)
        for number, link in enumerate(self.chain.links):
            nest = self._nest(number, link, batch, row, rows, limit)
            emission = self.find_strategy(nest.simplify(), self.target)
            assert emission is not None, "can_emit has found one"
            emission(b, self._initial(link))

    def _initial(self, link: Link) -> dict[int, ir.Value]:
        """What the link's output is filled with before."""
        out = link.nest.body.results[0]
        fill = self.chain.fills.get(link.nest.operands[out].value)
        return {} if fill is None else {out: fill.operands[0]}

    # Buffers

    def _allocate(self) -> None:
        """A buffer of one block for every temporary; one that is read for the last time by an
        elementwise link is that link's output too."""
        b = self.b
        last_reader: dict[ir.Value, Link] = {}
        for link in self.chain.links:
            for operand in link.nest.operands:
                if operand.value in self.chain.temporaries:
                    last_reader[operand.value] = link
        self.slots = {}
        for link in self.chain.links[:-1]:
            out = link.nest.operands[link.nest.body.results[0]]
            reused = [
                self.slots[operand.value]
                for operand in (link.nest.operands[i] for i in link.nest.inputs())
                if operand.value in self.slots
                and last_reader[operand.value] is link
                and self.chain.temporaries[operand.value]
                and operand.element_type == out.element_type
            ]
            if reused and self.chain.temporaries[out.value]:
                self.slots[out.value] = reused[0]
                continue
            size: Index = self.rows
            if self.chain.temporaries[out.value]:
                size = b.mul(self.row_stride, self.rows)
            self.slots[out.value] = b.scratch(size, out.element_type)
        self.packed = {}
        for number, link in enumerate(self.chain.links):
            self._allocate_packed(number, link)

    def _right_operand(self, link: Link) -> tuple[int, int, int] | None:
        """Operand, reduction and column dimension of a contraction's right side that is the same
        for all rows but not contiguous, or whose rows fall on the same cache sets."""
        contraction = match_contraction(link.nest)
        if contraction is None or len(contraction.k) != 1:
            return None
        k, column, right = contraction.k[0], contraction.column, contraction.b
        nest = link.nest
        if nest.stride(right, link.row) != ZERO:
            return None
        if nest.operands[right].value in self.chain.temporaries:
            return None
        step = nest.stride(right, k)
        contiguous = nest.stride(right, column) == ONE and step == nest.extents[column]
        if contiguous and step.static is not None and step.static % _CONFLICTING:
            return None
        return right, k, column

    def _allocate_packed(self, number: int, link: Link) -> None:
        found = self._right_operand(link)
        if found is None:
            return
        right, k, column = found
        nest = link.nest
        stride = _padded(self.b, nest.emit_extent(self.b, nest.extents[column]))
        size = self.b.mul(nest.emit_extent(self.b, nest.extents[k]), stride)
        buffer = self.b.scratch(size, nest.operands[right].element_type)
        self.packed[number] = _Packed(buffer, stride)

    def _pack(self, batch: list[Index]) -> None:
        """Copy right operands of this batch position into their contiguous buffers."""
        for number, packed in self.packed.items():
            link = self.chain.links[number]
            found = self._right_operand(link)
            assert found is not None
            right, k, column = found
            nest = self._at_batch(link, batch)
            source = nest.operands[right]
            extents = (nest.extents[k], nest.extents[column])
            copy = _yielding_first(source.element_type)
            symbols = list(nest.symbols)
            stride = _extent(self.b, packed.row_stride, symbols)
            target = Operand(packed.buffer.value, source.element_type, (stride, ONE))
            moved = LoopNest(
                extents,
                (False, False),
                (
                    replace(
                        source,
                        strides=(source.strides[k], source.strides[column]),
                        dim_order=None,
                    ),
                    target,
                ),
                Stage(copy.regions[0].blocks[0], (0, 1), (1,)),
                symbols,
            )
            emission = self.find_strategy(moved.simplify(), self.target)
            assert emission is not None, "a copy has a strategy"
            emission(self.b, {})
            copy.erase()

    # Links

    def _at_batch(self, link: Link, batch: Sequence[Index]) -> LoopNest:
        """The link's nest at one position of the batch dimensions."""
        nest = link.nest
        for dim, position in zip(link.shared[:-1], batch, strict=True):
            if dim is not None:
                nest = restricted(self.b, nest, dim, position, 1)
        return nest

    def _nest(
        self,
        number: int,
        link: Link,
        batch: list[Index],
        row: Index,
        rows: Index,
        limit: Index | None,
    ) -> LoopNest:
        """The link's nest for one block of rows, on the block's buffers."""
        b = self.b
        nest = restricted(b, self._at_batch(link, batch), link.row, row, rows)
        if limit is not None:
            nest = restricted(b, nest, link.column, 0, limit)
        symbols = list(nest.symbols)
        operands = list(nest.operands)
        found = self._right_operand(link)
        for position, operand in enumerate(link.nest.operands):
            if operand.value in self.slots:
                strides = [ZERO] * nest.rank
                if self.chain.temporaries[operand.value]:
                    strides[link.column] = ONE
                    strides[link.row] = _extent(b, self.row_stride, symbols)
                else:
                    strides[link.row] = ONE
                operands[position] = self._in_buffer(operand, self.slots[operand.value], strides)
            elif found is not None and position == found[0]:
                strides = [ZERO] * nest.rank
                packed = self.packed[number]
                strides[found[1]] = _extent(b, packed.row_stride, symbols)
                strides[found[2]] = ONE
                operands[position] = self._in_buffer(operand, packed.buffer, strides)
        return replace(nest, operands=tuple(operands), symbols=symbols)

    def _in_buffer(self, operand: Operand, buffer: FlatView, strides: list[Extent]) -> Operand:
        return Operand(buffer.value, operand.element_type, tuple(strides))


def _padded(b: Builder, columns: Index) -> Index:
    """The distance of rows in a buffer: not a large power of two, which would put whole columns
    into a few sets of the first-level cache."""
    if isinstance(columns, int) and columns % _CONFLICTING:
        return columns
    return b.add(columns, _PADDING)


def _extent(b: Builder, value: Index, symbols: list[tuple[ir.Value, int | None]]) -> Extent:
    if isinstance(value, int):
        return Extent(value)
    symbols.append((b.index(value), None))
    return Extent(1, (len(symbols) - 1,))


def _yielding_first(element: ir.Type) -> ir.Operation:
    """An operation whose body hands its first argument on; to be erased after use."""
    holder = ir.Operation.create("scf.execute_region", results=[], operands=[], regions=1)
    block = holder.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", results=[], operands=[block.arguments[0]])
    return holder
