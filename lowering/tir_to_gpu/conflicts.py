"""Whether different threads of a block may touch the same element of a buffer.

An index is split into what the thread's number adds and the rest.  What the number adds is
evaluated for every thread of the block, so that splits, fusions and swizzles need no rules of their
own; the rest is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from math import gcd

import numpy as np

from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.lowering.tir_to_gpu.memory_accesses import Access, view_range
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.enumeration import evaluate
from relax_mlir.tir.schedule.index import Atom, Index

__all__ = ["ThreadBlock"]

_MOST_THREADS = 1024


@dataclass
class ThreadBlock:
    """The threads of a launch: the values of their numbers and how many there are along each."""

    ids: Sequence[ir.Value]
    sizes: Sequence[int | None]
    _cache: dict[Index, np.ndarray] = field(default_factory=dict)

    def is_thread_id(self, value: ir.Value) -> bool:
        return value in self.ids

    def has_known_size(self) -> bool:
        """Whether all sizes are constants, and the block is one that a device runs."""
        count = 1
        for size in self.sizes:
            count *= _MOST_THREADS + 1 if size is None else size
        return count <= _MOST_THREADS

    def is_one_thread(self) -> bool:
        return all(size == 1 for size in self.sizes)

    # -- conflicts ----------------------------------------------------------------------------

    def conflict(self, a: Access, b: Access) -> bool:
        """Whether a thread's access may touch what another's touches, one of them writing."""
        if a.root != b.root or not (a.is_write or b.is_write) or (a.is_atomic and b.is_atomic):
            return False
        # Two threads that write one element without an order between them are the program's doing.
        if a.quiet or b.quiet:
            return False
        plain_writes = a.is_write and b.is_write and not a.is_atomic and not b.is_atomic
        if plain_writes and a.buffer == b.buffer:
            return False
        if self.is_one_thread() or _apart(a, b):
            return False
        if a.buffer != b.buffer or a.indices is None or b.indices is None:
            return True
        moved = a.moved | b.moved
        if not is_workgroup(a.root.type) and self._is_same_place(a, b, moved):
            return False
        return self._may_meet(a, b, moved)

    def _is_same_place(self, a: Access, b: Access, moved: Set[ir.Value]) -> bool:
        """In global memory, one expression for both is taken to name one thread's elements."""
        leaves = [leaf for index in a.indices or () for leaf in index.leaves()]
        return a.indices == b.indices and a.lanes == b.lanes and not any(v in moved for v in leaves)

    def _may_meet(self, a: Access, b: Access, moved: Set[ir.Value]) -> bool:
        if not self.has_known_size():
            return True
        assert a.indices is not None and b.indices is not None
        meet: np.ndarray | None = None
        last = len(a.indices) - 1
        for axis, (x, y) in enumerate(zip(a.indices, b.indices, strict=True)):
            first, second = self._split(x), self._split(y)
            if first is None or second is None:
                continue
            # Elements meet where the threads' parts differ by what the rests may differ by.
            gap = self._values(first[0])[:, None] - self._values(second[0])[None, :]
            lanes = (a.lanes, b.lanes) if axis == last else (1, 1)
            here = _distance(first[1], second[1], moved).may_be(gap, *lanes)
            meet = here if meet is None else meet & here
        if meet is None:
            count = self._values(Index()).size
            meet = np.ones((count, count), bool)
        meet = meet & self._active(a)[:, None] & self._active(b)[None, :]
        np.fill_diagonal(meet, False)
        return bool(meet.any())

    def _active(self, access: Access) -> np.ndarray:
        """The threads that may make an access, by the conditions on their numbers."""
        active = np.ones(self._values(Index()).size, bool)
        for guard in access.guards:
            split = self._split(guard.left - guard.right)
            if split is None or not split[1].is_constant or guard.predicate not in _COMPARE:
                continue
            difference = self._values(split[0]) + split[1].constant
            holds = _COMPARE[guard.predicate](difference, 0)
            active &= holds if guard.holds else ~holds
        return active

    def _split(self, index: Index) -> tuple[Index, Index] | None:
        """(what the thread's number adds, the rest); None where they are not a sum."""
        own: dict[tuple[Atom, ...], int] = {}
        rest: dict[tuple[Atom, ...], int] = {}
        for monomial, k in index.terms.items():
            leaves = Index({monomial: 1}).leaves()
            of_thread = [self.is_thread_id(v) for v in leaves]
            if all(of_thread):
                own[monomial] = k
            elif any(of_thread):
                return None
            else:
                rest[monomial] = k
        return Index(own), Index(rest, index.constant)

    def _values(self, index: Index) -> np.ndarray:
        """The value of an expression over thread numbers for every thread of the block."""
        found = self._cache.get(index)
        if found is None:
            x, y, z = (size or 1 for size in self.sizes)
            number = np.arange(x * y * z)
            numbers = (number % x, number // x % y, number // (x * y))
            found = evaluate(index, dict(zip(self.ids, numbers, strict=True)), number.size)
            self._cache[index] = found
        return found


def _apart(a: Access, b: Access) -> bool:
    """Whether two views of one memory do not overlap."""
    first, second = view_range(a.buffer), view_range(b.buffer)
    if first is None or second is None:
        return False
    return first[1] <= second[0] or second[1] <= first[0]


@dataclass(frozen=True)
class _Distance:
    """What the rests of two indices may differ by: numbers in [low, high] that leave `remainder`
    when divided by `step`; None where not known."""

    low: int | None
    high: int | None
    step: int = 1
    remainder: int = 0

    def may_be(self, gap: np.ndarray, lanes_a: int, lanes_b: int) -> np.ndarray:
        """Where a gap between first elements makes accesses of so many elements meet."""
        here = np.ones(gap.shape, bool)
        if self.low is not None:
            here &= gap >= self.low - (lanes_a - 1)
        if self.high is not None:
            here &= gap <= self.high + (lanes_b - 1)
        if self.step > 1 and lanes_a == lanes_b == 1:
            here &= gap % self.step == self.remainder
        return here


def _distance(a: Index, b: Index, moved: Set[ir.Value]) -> _Distance:
    """What `b - a` may be where the variables that have moved are chosen for each on its own."""
    fixed_a, moving_a = _by_variation(a, moved)
    fixed_b, moving_b = _by_variation(b, moved)
    fixed = fixed_b - fixed_a
    low, high = fixed.bounds()
    (low_a, high_a), (low_b, high_b) = (Index() - moving_a).bounds(), moving_b.bounds()
    least, most = _sum(low, low_a, low_b), _sum(high, high_a, high_b)
    step = gcd(*fixed.terms.values(), *moving_a.terms.values(), *moving_b.terms.values())
    return _Distance(least, most, step, fixed.constant % step if step else 0)


def _sum(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _by_variation(index: Index, moved: Set[ir.Value]) -> tuple[Index, Index]:
    fixed: dict[tuple[Atom, ...], int] = {}
    moving: dict[tuple[Atom, ...], int] = {}
    for monomial, k in index.terms.items():
        leaves = Index({monomial: 1}).leaves()
        (moving if any(v in moved for v in leaves) else fixed)[monomial] = k
    return Index(fixed, index.constant), Index(moving)


# By the number of `arith.cmpi`'s predicate: eq, ne, slt, sle, sgt, sge.
_COMPARE: dict[int, Callable[[np.ndarray, int], np.ndarray]] = {
    0: np.equal,
    1: np.not_equal,
    2: np.less,
    3: np.less_equal,
    4: np.greater,
    5: np.greater_equal,
}
