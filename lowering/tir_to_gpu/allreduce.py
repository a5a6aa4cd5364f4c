"""Combining a value of every thread: shuffles within warps, shared memory across them.

Every thread of a group gets the group's result.  Three ways, by what the group is:

- up to 32 threads in a row: a tree of shuffles;
- whole warps, a power of two of them: shuffles, one value a warp through shared memory, shuffles;
- any other: a tree in shared memory.

Barriers are not put here: `gpu-insert-barriers` does it for all of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from relax_mlir.lowering.tir_to_gpu.shuffles import WARP, shuffle
from relax_mlir.mlir import arith, ir, memref, scf
from relax_mlir.tir.schedule.index import Index, floordiv, mod
from relax_mlir.tir.schedule.index_write import write
from relax_mlir.tir.schedule.state import alloc_buffer

__all__ = ["ThreadGroup", "allreduce"]

Combine = Callable[[Sequence[ir.Value], Sequence[ir.Value]], "list[ir.Value]"]


@dataclass(frozen=True)
class ThreadGroup:
    """The threads that combine their values.

    `axes` are (number, extent, whether it is reduced over) of the block's axes, threadIdx.x first.
    """

    axes: tuple[tuple[Index, int, bool], ...]

    @property
    def size(self) -> int:
        """The number of threads in a group."""
        return prod(extent for _, extent, reduced in self.axes if reduced)

    @property
    def groups(self) -> int:
        return prod(extent for _, extent, reduced in self.axes if not reduced)

    @property
    def member(self) -> Index:
        """A thread's number in its group."""
        return _linear([(n, e) for n, e, reduced in self.axes if reduced])

    @property
    def group(self) -> Index:
        return _linear([(n, e) for n, e, reduced in self.axes if not reduced])

    @property
    def is_contiguous(self) -> bool:
        """Whether a group's threads follow each other in the block."""
        marks = [reduced for _, extent, reduced in self.axes if extent > 1]
        return marks == sorted(marks, reverse=True)


def _linear(parts: Sequence[tuple[Index, int]]) -> Index:
    total, step = Index(), 1
    for number, extent in parts:
        total, step = total + number * step, step * extent
    return total


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def allreduce(
    group: ThreadGroup, values: Sequence[ir.Value], combine: Combine, at: ir.InsertionPoint,
    home: ir.InsertionPoint, warp: int = WARP,
) -> list[ir.Value]:  # fmt: skip
    """The combined values, in every thread of the group; made at `at`, staging buffers at `home`.

    `warp` is how many threads of the device have shuffles.  `combine` takes the values of the
    earlier and of the later thread.
    """
    size = group.size
    made = _Reduction(group, combine, at, home)
    if size == 1:
        return list(values)
    if warp < WARP:
        return made.shared_tree(values)
    if group.is_contiguous and size <= WARP and _is_power_of_two(size):
        return made.shuffle_tree(values, size)
    if group.is_contiguous and size % WARP == 0 and _is_power_of_two(size // WARP):
        return made.across_warps(values)
    return made.shared_tree(values)


class _Reduction:
    def __init__(
        self, group: ThreadGroup, combine: Combine, at: ir.InsertionPoint, home: ir.InsertionPoint
    ) -> None:
        self.group, self.combine, self.at, self.home = group, combine, at, home

    def _write(self, index: Index | int) -> ir.Value:
        index = index if isinstance(index, Index) else Index({}, index)
        return write(index, self.at, ir.Location.current)

    def _staging(self, values: Sequence[ir.Value], shape: Sequence[int]) -> list[ir.Value]:
        sizes = [Index({}, size) for size in shape]
        return [
            alloc_buffer("staging", sizes, v.type, "shared", self.home).operation.results[0]
            for v in values
        ]

    # -- within a warp ------------------------------------------------------------------------

    def shuffle_tree(self, values: Sequence[ir.Value], size: int) -> list[ir.Value]:
        """Combine the values of `size` threads in a row, a power of two up to 32."""
        current, offset = list(values), size // 2
        while offset:
            others = [shuffle(value, "xor", offset) for value in current]
            if len(current) > 1:
                current = self._in_order(current, others, offset)
            else:
                current = self.combine(current, others)
            offset //= 2
        return current

    def _in_order(
        self, own: Sequence[ir.Value], others: Sequence[ir.Value], offset: int
    ) -> list[ir.Value]:
        """Combine the values of the earlier thread with those of the later, alike in both."""
        half = mod(floordiv(self.group.member, Index({}, offset)), Index({}, 2))
        zero = self._write(0)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, self._write(half), zero)
        pairs = list(zip(own, others, strict=True))
        earlier = [arith.select(is_first, a, b) for a, b in pairs]
        later = [arith.select(is_first, b, a) for a, b in pairs]
        return self.combine(earlier, later)

    # -- across warps -------------------------------------------------------------------------

    def across_warps(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        warps = self.group.size // WARP
        partial = self.shuffle_tree(values, WARP)
        if warps == 1:
            return partial
        staging = self._staging(partial, [self.group.groups, warps])
        member, group = self.group.member, self._write(self.group.group)
        lane = mod(member, Index({}, WARP))
        warp = self._write(floordiv(member, Index({}, WARP)))
        is_first = arith.cmpi(arith.CmpIPredicate.eq, self._write(lane), self._write(0))
        self._store_if(is_first, partial, staging, [group, warp])
        slot = self._write(mod(member, Index({}, warps)))
        parts = [memref.load(buffer, [group, slot]) for buffer in staging]
        return self.shuffle_tree(parts, warps)

    def _store_if(
        self,
        condition: ir.Value,
        values: Sequence[ir.Value],
        buffers: Sequence[ir.Value],
        indices: Sequence[ir.Value],
    ) -> None:
        branch = scf.IfOp(condition)
        with ir.InsertionPoint(branch.then_block):
            for value, buffer in zip(values, buffers, strict=True):
                memref.store(value, buffer, list(indices))
            scf.YieldOp([])

    # -- in shared memory ---------------------------------------------------------------------

    def shared_tree(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        size = self.group.size
        staging = self._staging(values, [self.group.groups, size])
        group, member = self._write(self.group.group), self._write(self.group.member)
        for value, buffer in zip(values, staging, strict=True):
            memref.store(value, buffer, [group, member])
        offset = 1 << ((size - 1).bit_length() - 1)
        while offset:
            count = min(offset, size - offset)
            works = arith.cmpi(arith.CmpIPredicate.slt, member, self._write(count))
            branch = scf.IfOp(works)
            with ir.InsertionPoint(branch.then_block):
                partner = arith.addi(member, arith.constant(ir.IndexType.get(), offset))
                own = [memref.load(buffer, [group, member]) for buffer in staging]
                others = [memref.load(buffer, [group, partner]) for buffer in staging]
                for value, buffer in zip(self.combine(own, others), staging, strict=True):
                    memref.store(value, buffer, [group, member])
                scf.YieldOp([])
            offset //= 2
        return [memref.load(buffer, [group, self._write(0)]) for buffer in staging]
