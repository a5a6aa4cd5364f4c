"""The register tile of a direct convolution: that of a matrix product, with loops over taps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from relax_mlir.lowering.linalg_to_vector.builder import Index
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import MicroKernel, Tile
from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS
from relax_mlir.lowering.linalg_to_vector.summation import blocked_sum
from relax_mlir.mlir import ir

__all__ = ["ConvolutionKernel"]

# Sums of fewer terms than this do not pay for the addition to the rest.
_SHORT_SUM = 32
_Values = list[ir.Value]
_Body = Callable[[Index, Index, _Values], _Values]


@dataclass
class ConvolutionKernel(MicroKernel):
    """Emits tiles whose rows are output positions along one axis.

    The reduction dimensions of the contraction are the taps, then the channels.
    ranges: the bounds of the loops over taps of all axes but that of the rows.
    row_taps: number of taps along that axis, None if it has no window.
    selected: for each of those the rows of the tile that it counts for, None if all count for all.
    """

    ranges: tuple[tuple[Index, Index], ...] = ()
    row_taps: int | None = None
    selected: tuple[tuple[int, ...], ...] | None = None
    _tile: Tile = field(init=False)
    _empty: ir.Value = field(init=False)
    _rows: list[Index] = field(init=False)
    _vector_masks: list[ir.Value | None] = field(init=False)

    def _accumulate(self, tile: Tile) -> _Values:
        b, con = self.b, self.contraction
        self._empty = empty = self.empty()
        self._vector_masks = self._masks(tile)
        start = self._start_row(tile, empty) * tile.rows
        a = self.accesses[con.a]
        stride = 0 if con.row is None else a.strides[con.row]
        a_start = b.add(a.base, b.mul(tile.row, stride))
        self._rows = [b.add(a_start, b.mul(row, stride)) for row in range(tile.rows)]
        self._tile = tile
        count = tile.rows * tile.vectors
        chains = self._chains(tile)
        sums = self._tap_loops(0, 0, tile.b_base, start + [empty] * (count * (chains - 1)))
        for chain in range(1, chains):
            part = sums[chain * count : (chain + 1) * count]
            sums[:count] = [self.combine(x, y) for x, y in zip(sums[:count], part, strict=True)]
        return sums[:count]

    def _chains(self, tile: Tile) -> int:
        """Independent sums of each element, so that few elements do not wait for each other."""
        count = tile.rows * tile.vectors
        if not tile.k_extents or self.selected is not None or count > CHAINS // 2:
            return 1
        # Chains share out the innermost loop over channels; loops over taps know nothing of them.
        if len(self.contraction.k) == len(self.ranges) + (self.row_taps is not None):
            return 1
        depth = tile.k_extents[-1]
        chains = CHAINS // count
        return min(chains, depth) if isinstance(depth, int) else chains

    def _strides(self, level: int) -> tuple[Index, Index]:
        dim = self.contraction.k[level]
        a = self.accesses[self.contraction.a]
        return a.strides[dim], self._tile.b_k_strides[level]

    def _tap_loops(self, level: int, a: Index, b_: Index, values: _Values) -> _Values:
        """The taps of the axes other than the row's."""
        if level == len(self.ranges):
            return self._row_loops(level, a, b_, values)
        low, high = self.ranges[level]
        return self._loop(
            level, (low, high), (a, b_), values, lambda *at: self._tap_loops(level + 1, *at)
        )

    def _loop(
        self,
        level: int,
        bounds: tuple[Index, Index],
        at: tuple[Index, Index],
        values: _Values,
        body: _Body,
    ) -> _Values:
        b = self.b
        a_stride, b_stride = self._strides(level)

        def step(position: Index, carried: _Values) -> _Values:
            a = b.add(at[0], b.mul(position, a_stride))
            return body(a, b.add(at[1], b.mul(position, b_stride)), carried)

        return b.carried_loop(*bounds, 1, values, step)

    def _row_loops(self, level: int, a: Index, b_: Index, values: _Values) -> _Values:
        """The taps along the row."""
        every = tuple(range(self._tile.rows))
        if self.row_taps is None:
            rows = every if self.selected is None else self.selected[0]
            return self._on_rows(level, (0, 1), (a, b_), values, rows)
        if self.selected is None:
            return self._on_rows(level, (0, self.row_taps), (a, b_), values, every)
        first = 0
        while first < len(self.selected):
            last = first + 1
            while last < len(self.selected) and self.selected[last] == self.selected[first]:
                last += 1
            if self.selected[first]:
                values = self._on_rows(level, (first, last), (a, b_), values, self.selected[first])
            first = last
        return values

    def _on_rows(
        self,
        level: int,
        taps: tuple[int, int],
        at: tuple[Index, Index],
        values: _Values,
        rows: tuple[int, ...],
    ) -> _Values:
        """The taps of a range, for some rows of the tile."""
        tile, vectors = self._tile, self._tile.vectors
        if len(rows) == tile.rows:
            return self._tap_range(level, taps, at, values, self._rows)
        part = [values[row * vectors + v] for row in rows for v in range(vectors)]
        part = self._tap_range(level, taps, at, part, [self._rows[row] for row in rows])
        results = list(values)
        for i, row in enumerate(rows):
            results[row * vectors : (row + 1) * vectors] = part[i * vectors : (i + 1) * vectors]
        return results

    def _tap_range(
        self,
        level: int,
        taps: tuple[int, int],
        at: tuple[Index, Index],
        values: _Values,
        rows: list[Index],
    ) -> _Values:
        if self.row_taps is None:
            return self._channel_loops(level, *at, values, rows)
        b, first = self.b, taps[0]
        a_stride, b_stride = self._strides(level)
        if self._is_merged(level):
            # Taps and channels lie behind each other in data and weight: one loop over both.
            depth = self._tile.k_extents[level + 1]
            start = (b.add(at[0], b.mul(first, a_stride)), b.add(at[1], b.mul(first, b_stride)))
            length = b.mul(taps[1] - first, depth)
            return self._innermost(level + 1, length, *start, values, rows)
        return self._loop(
            level,
            taps,
            at,
            values,
            lambda a, b_, carried: self._channel_loops(level + 1, a, b_, carried, rows),
        )

    def _is_merged(self, level: int) -> bool:
        if level + 2 != len(self.contraction.k):
            return False
        depth = self._tile.k_extents[level + 1]
        outer, inner = self._strides(level), self._strides(level + 1)
        pairs = zip(outer, inner, strict=True)
        return isinstance(depth, int) and all(
            isinstance(x, int) and isinstance(y, int) and x == y * depth for x, y in pairs
        )

    def _channel_loops(
        self, level: int, a: Index, b_: Index, values: _Values, rows: list[Index]
    ) -> _Values:
        if level == len(self.contraction.k):
            return self._products(a, b_, values, rows)
        extent = self._tile.k_extents[level]
        if level + 1 == len(self.contraction.k):
            return self._innermost(level, extent, a, b_, values, rows)
        return self._loop(
            level,
            (0, extent),
            (a, b_),
            values,
            lambda a, b_, carried: self._channel_loops(level + 1, a, b_, carried, rows),
        )

    def _innermost(
        self, level: int, extent: Index, a: Index, b_: Index, values: _Values, rows: list[Index]
    ) -> _Values:
        """The innermost loop, one position for each chain of sums at once."""
        b = self.b
        a_stride, b_stride = self._strides(level)
        count = len(rows) * self._tile.vectors
        chains = len(values) // count

        def step(position: Index, carried: _Values) -> _Values:
            results: _Values = []
            for chain in range(len(carried) // count):
                now = b.add(position, chain)
                part = carried[chain * count : (chain + 1) * count]
                a_at = b.add(a, b.mul(now, a_stride))
                results += self._products(a_at, b.add(b_, b.mul(now, b_stride)), part, rows)
            return results

        if chains == 1 and self._is_blocked(extent):
            return blocked_sum(b, extent, values, self._empty, step, self.combine)
        main = b.round_down(extent, chains)
        values = b.carried_loop(0, main, chains, values, step)
        return b.carried_loop(main, extent, 1, values[:count], step) + values[count:]

    def _is_blocked(self, extent: Index) -> TypeGuard[int]:
        """Whether the innermost loop is long enough, and all loops together too long for one sum of
        floating-point numbers."""
        if not isinstance(extent, int) or extent < _SHORT_SUM or not self._is_float_sum():
            return False
        terms = 1
        for depth in self._tile.k_extents:
            terms *= depth if isinstance(depth, int) else 2
        return terms >= 3 * _SHORT_SUM

    def _is_float_sum(self) -> bool:
        return self._combiner.op == "arith.addf"

    def _products(self, a: Index, b_: Index, values: _Values, rows: list[Index]) -> _Values:
        tile = replace(self._tile, rows=len(rows))
        results: _Values = []
        count = len(rows) * tile.vectors
        for chain in range(len(values) // count):
            part = values[chain * count : (chain + 1) * count]
            results += self._step(tile, rows, self._vector_masks, a, b_, part)
        return results
